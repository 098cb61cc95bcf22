import { GatewayError } from '../base/errors.ts';
import type { Scope } from './scopes.ts';
import type { Meter } from './usage/meters.ts';

/** The owner of an accepted token, and what the token allows. */
export type Caller = {
  /** The visible part of the token; `development` for the plain one, `environment-` and its beginning for a bare hash. */
  readonly tokenId: string;
  readonly scopes: ReadonlySet<Scope>;
  /** Matches the names of the saved queries that this caller may read; absent: all of them. */
  readonly endpoints?: RegExp | undefined;
  /** Values of parameters, by name: the caller can send no others. */
  readonly fixedParameters?: Readonly<Record<string, string>> | undefined;
  /** Maximum bytes that one query of this caller may be billed; absent: no limit of its own. */
  readonly maxBytesBilled?: number | undefined;
  /** Counts the use of the token; absent if nothing limits or counts it. */
  readonly meter?: Meter | undefined;
};

/** @throws GatewayError `forbidden` if the caller lacks a scope */
export function requireScope({ scopes }: Pick<Caller, 'scopes'>, scope: Scope): void {
  if (scopes.has(scope)) return;
  throw new GatewayError('forbidden', `The access token lacks the scope "${scope}"`);
}

/** Whether the caller's token covers a saved query of this name. */
export function coversEndpoint({ endpoints }: Pick<Caller, 'endpoints'>, endpoint: string): boolean {
  return endpoints === undefined || endpoints.test(endpoint);
}

/** @throws GatewayError `forbidden` if the caller may not use a saved query of this name */
export function requireEndpoint(caller: Pick<Caller, 'endpoints'>, endpoint: string): void {
  if (coversEndpoint(caller, endpoint)) return;
  throw new GatewayError('forbidden', `The access token does not cover the saved query "${endpoint}"`);
}

/** The name of a saved query, or a glob in which `*` stands for any text; at most four of these because each multiplies the cost of matching. */
export const endpointGlob = /^(?!(?:[^*]*\*){5})[A-Za-z0-9._*-]{1,128}$/;

/** One pattern for a list of names and globs; absent for an absent list. */
export function endpointsPattern(globs: readonly string[] | undefined): RegExp | undefined {
  if (!globs) return undefined;
  const parts = globs.map(glob => glob.replaceAll('.', '\\.').replace(/\*+/g, '.*'));
  return new RegExp(`^(?:${parts.join('|')})$`);
}
