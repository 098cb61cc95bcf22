import { setImmediate } from 'node:timers/promises';
import { type Caller, requireEndpoint } from '../auth/caller.ts';
import { toGatewayError } from '../base/errors.ts';
import type { EndpointDefinition } from '../endpoints/definition.ts';
import type { EndpointRegistry } from '../endpoints/registry.ts';
import { withoutValue } from '../endpoints/typed-parameter.ts';
import type { Engine, Subset } from '../engine/engine.ts';
import { findEndpoint, mayRead } from './plan-request.ts';

/** A saved query, as far as a caller may know it. */
export type ListedEndpoint = {
  readonly definition: EndpointDefinition;
  /** What the caller's own SQL can read; absent where the caller may send none. */
  readonly subsets: readonly Subset[] | undefined;
  /** Names of the parameters that the token fixes. */
  readonly fixed: readonly string[];
};

type ListDeps = {
  readonly endpoints: Pick<EndpointRegistry, 'all' | 'find'>;
  readonly engine: Pick<Engine, 'subsets'>;
};

/**
 * The saved queries that a caller may ask, in the order of their names (contract 10.5).
 * @throws GatewayError as `engine.subsets`
 */
export async function listEndpoints(deps: ListDeps, caller: Caller): Promise<ListedEndpoint[]> {
  const covered = deps.endpoints.all().filter(definition => mayRead(caller, definition));
  const all: ListedEndpoint[] = [];
  for (const definition of covered) {
    all.push(await listed(deps, caller, definition));
    // Resolving a large query takes some milliseconds; other requests go on in between.
    await setImmediate();
  }
  return all;
}

/**
 * One of them.
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
  return listed(deps, caller, definition);
}

const fixedBy = ({ fixedParameters = {} }: Caller) => Object.keys(fixedParameters);

async function listed(
  { engine }: ListDeps,
  caller: Caller,
  definition: EndpointDefinition,
): Promise<ListedEndpoint> {
  const maySendSql = definition.sandbox && caller.scopes.has('sandbox');
  const subsets = maySendSql ? await subsetsOf(engine, definition).catch(withoutSubsets) : undefined;
  return { definition, subsets, fixed: fixedBy(caller) };
}

/** A saved query whose source can't be read any more is no reason to list none. */
function withoutSubsets(error: unknown): undefined {
  if (toGatewayError(error).code !== 'invalid_query') throw error;
}

/** The subsets of each definition, found out once. */
const known = new WeakMap<EndpointDefinition, Promise<readonly Subset[]>>();

function subsetsOf(
  engine: Pick<Engine, 'subsets'>,
  definition: EndpointDefinition,
): Promise<readonly Subset[]> {
  const found = known.get(definition);
  if (found) return found;
  const { sql, parameters } = definition;
  const asked = engine.subsets({ sql, parameters: parameters.map(withoutValue) });
  known.set(definition, asked);
  asked.catch(() => known.delete(definition));
  return asked;
}
