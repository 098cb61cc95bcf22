import { type Caller, requireEndpoint } from '../auth/caller.ts';
import { toGatewayError } from '../base/errors.ts';
import { createOwnTurns } from '../base/turns.ts';
import type { EndpointDefinition } from '../endpoints/definition.ts';
import { withoutValue } from '../endpoints/parameters/read-parameter.ts';
import type { EndpointRegistry } from '../endpoints/registry.ts';
import type { Engine, Subset } from '../engine/engine.ts';
import { hasFixedSubsets, requireTaken } from './fixed-parameters.ts';
import { findEndpoint, mayRead } from './plan-request.ts';

/** A saved query, as one caller may see it. */
export type ListedEndpoint = {
  readonly definition: EndpointDefinition;
  /** What the caller's own SQL can read; absent if the caller may send none. */
  readonly subsets: readonly Subset[] | undefined;
  /** Names of the parameters that the token fixes. */
  readonly fixed: readonly string[];
};

type ListDeps = {
  readonly endpoints: Pick<EndpointRegistry, 'all' | 'find' | 'broken'>;
  readonly engine: Pick<Engine, 'subsets' | 'tablesVersion'>;
};

/** The saved queries that a caller may read, ordered by name (contract 10.5). */
export function coveredEndpoints(
  { endpoints }: Pick<ListDeps, 'endpoints'>,
  caller: Caller,
): EndpointDefinition[] {
  return endpoints.all().filter(definition => mayRead(caller, definition));
}

/** Milliseconds of listing before other requests get a turn. */
const sliceMs = 5;

const ownTurn = createOwnTurns();

/**
 * Converts each of these saved queries; thousands of them take many turns of the event loop.
 * @param show the conversion. Default: none
 * @throws GatewayError as `engine.subsets`
 */
export async function listEndpoints<Shown = ListedEndpoint>(
  deps: Pick<ListDeps, 'engine'>,
  caller: Caller,
  covered: readonly EndpointDefinition[],
  show: (listed: ListedEndpoint) => Shown = listed => listed as Shown, // the default of `Shown`, too
): Promise<Shown[]> {
  const all: Shown[] = [];
  let endMs = 0;
  for (const definition of covered) {
    if (performance.now() >= endMs) {
      await ownTurn(caller.tokenId);
      endMs = performance.now() + sliceMs;
    }
    all.push(show(await listed(deps, caller, definition)));
  }
  return all;
}

/**
 * Finds one saved query that a caller may read.
 * @param reference name or UUID
 * @throws GatewayError `endpoint_not_found`, `forbidden`, and as `engine.subsets`
 */
export async function listEndpoint(
  deps: ListDeps,
  caller: Caller,
  reference: string,
): Promise<ListedEndpoint> {
  const definition = findEndpoint(deps.endpoints, reference, caller);
  requireEndpoint(caller, definition.name);
  if (caller.fixedParameters) requireTaken(definition, caller.fixedParameters);
  return listed(deps, caller, definition);
}

const fixedBy = ({ fixedParameters = {} }: Caller) => Object.keys(fixedParameters);

async function listed(
  { engine }: Pick<ListDeps, 'engine'>,
  caller: Caller,
  definition: EndpointDefinition,
): Promise<ListedEndpoint> {
  const { scopes, fixedParameters = {} } = caller;
  const maySendSql =
    definition.sandbox && scopes.has('sandbox') && hasFixedSubsets(definition, fixedParameters);
  const subsets = maySendSql ? await subsetsOf(engine, definition).catch(withoutSubsets) : undefined;
  return { definition, subsets, fixed: fixedBy(caller) };
}

/** Lists a saved query without its subsets if its source can't be read any more: the others must still be listed. */
function withoutSubsets(error: unknown): undefined {
  if (toGatewayError(error).code !== 'invalid_query') throw error;
}

type Known = { readonly version: string; readonly subsets: Promise<readonly Subset[]> };

/** The subsets of each definition, with the version of the tables for which they were looked up. */
const known = new WeakMap<EndpointDefinition, Known>();

async function subsetsOf(
  engine: Pick<Engine, 'subsets' | 'tablesVersion'>,
  definition: EndpointDefinition,
): Promise<readonly Subset[]> {
  const found = known.get(definition);
  // While the engine is down, the subsets found last are better than none.
  const version = await engine.tablesVersion().catch(error => found?.version ?? Promise.reject(error));
  if (found?.version === version) return found.subsets;
  const { sql, parameters } = definition;
  const subsets = engine.subsets({ sql, parameters: parameters.map(withoutValue) });
  known.set(definition, { version, subsets });
  subsets.catch(() => known.delete(definition));
  return subsets;
}
