import { hash } from 'node:crypto';
import type { ResultSet } from '../base/rows.ts';
import type { Joined, JoinedCallers } from '../base/turns.ts';
import type { EndpointDefinition } from '../endpoints/definition.ts';
import type { QueryParameter } from '../engine/engine.ts';
import { layoutVersion } from './entry.ts';
import type { Lifetimes } from './freshness.ts';

/** What one cache entry answers: a definition, its canonical parameters, and a caller's SQL if any (contract 5.1). */
export type CacheKey = {
  /** UUID of the endpoint: all its entries can be invalidated together. */
  readonly group: string;
  /** SHA-256 of the entry's layout and the canonical text, hexadecimal. */
  readonly digest: string;
  /** The text itself: stored with the entry and compared on every read. */
  readonly canonical: string;
};

/** How to run a query, and what it may cost. */
export type Load = {
  /** Runs the query. Its signal aborts once no request waits for it; `joined` are the callers whose requests do. */
  readonly run: (signal: AbortSignal, joined?: JoinedCallers) => Promise<ResultSet>;
  /** Bytes that the query may be billed: a refusal for it is shared only with requests of the same or a lower limit. Default: no limit. */
  readonly maxBytesBilled?: number | undefined;
};

/** A request to the cache, and how to load the answer if the cache has none. */
export type CacheRequest = {
  /** Name of the endpoint, for events. */
  readonly endpoint: string;
  readonly key: CacheKey;
  /** The caller among whom turns are shared fairly: the id of an access token. Default: all without one share their turns. */
  readonly caller?: string | undefined;
  /** All callers who wait for the same answer, including those who join later. Default: the caller alone. */
  readonly joined?: Joined | undefined;
  /** The caller's SQL as it was sent: error positions refer to it, so only requests with the same text share them. */
  readonly callerSql?: string | undefined;
  readonly lifetimes: Lifetimes;
  /** Maximum milliseconds to wait for another gateway's query. */
  readonly waitMs: number;
  /** Used while a caller waits. */
  readonly load: Load;
  /** Used in the background: after a stale answer, or ahead of the next request. */
  readonly refreshLoad: Load;
};

/** Equal for requests that share one run in this process; requests with different limits share through the store, as gateways do. */
export function flightOf({
  key,
  callerSql = '',
  load,
}: Pick<CacheRequest, 'key' | 'callerSql' | 'load'>): string {
  return `${key.digest} ${load.maxBytesBilled ?? 'unlimited'} ${callerSql}`;
}

/** The key of the entry that holds the rows for these values, whichever handler and spelling a request used. */
export function cacheKey({
  definition,
  parameters,
  callerSql,
}: {
  readonly definition: Pick<EndpointDefinition, 'id' | 'hash'>;
  readonly parameters: readonly QueryParameter[];
  readonly callerSql: string | undefined;
}): CacheKey {
  const canonical = JSON.stringify([
    definition.hash,
    parameters.map(({ name, value }) => [name, value]),
    callerSql ?? null,
  ]);
  return {
    group: definition.id,
    digest: hash('sha256', `${layoutVersion} ${canonical}`, 'hex'),
    canonical,
  };
}
