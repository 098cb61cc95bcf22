import { createHash } from 'node:crypto';
import type { EndpointDefinition } from '../endpoints/definition.ts';
import type { QueryParameter } from '../engine/engine.ts';

/** What one cache entry answers: a definition, its canonical parameters, and a caller's SQL if any (contract 5.1). */
export type CacheKey = {
  /** UUID of the endpoint: all its entries can be invalidated together. */
  readonly group: string;
  /** SHA-256 of the canonical text, hexadecimal. */
  readonly digest: string;
  /** The text itself: stored with the entry and compared on every read. */
  readonly canonical: string;
};

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
    digest: createHash('sha256').update(canonical).digest('hex'),
    canonical,
  };
}
