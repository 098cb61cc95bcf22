import type { OutgoingHttpHeaders } from 'node:http';
import type { Coding } from '../http-messages/content-coding.ts';
import { vary } from '../http-messages/render-error.ts';
import type { Answer } from '../pipeline/run-endpoint.ts';

/**
 * Says where an answer came from and who may keep it for how long (contract 5.10).
 * Source: RFC 9110 (ETag, Vary), RFC 9111 (Age, Cache-Control), RFC 5861 (stale-…), RFC 9211 (Cache-Status).
 */
export function cacheHeaders(
  { endpoint, cache, bodyDigest, plan }: Answer,
  coding: Coding | undefined,
): OutgoingHttpHeaders {
  if (cache.state === 'off' || bodyDigest === undefined) {
    return {
      'cache-control': 'no-store',
      'x-cache': 'BYPASS',
      'cache-status': `${cacheName}; fwd=bypass`,
      vary,
    };
  }
  const { cacheSeconds, staleSeconds, staleIfErrorSeconds } = endpoint;
  const ttl = cacheSeconds - cache.ageSeconds;
  return {
    etag: entityTag(bodyDigest, coding),
    age: String(cache.ageSeconds),
    'cache-control':
      `${endpoint.public ? 'public' : 'private'}, max-age=${cacheSeconds}` +
      `, stale-while-revalidate=${staleSeconds}, stale-if-error=${staleIfErrorSeconds}`,
    // nginx counts max-age from the moment of its own request, whatever Age says; this it takes instead. Of a 304 with 0 it
    // takes max-age again, so that a stale answer is good for a second: by then the refresh may be through.
    ...(endpoint.public ? { 'x-accel-expires': String(Math.max(1, ttl)) } : {}),
    vary,
    'x-cache': { hit: 'HIT', stale: 'STALE', 'stale-if-error': 'STALE', miss: 'MISS' }[cache.state],
    'cache-status': `${cacheName}; ${cacheStatus()}`,
  };

  function cacheStatus(): string {
    switch (cache.state) {
      case 'miss':
        return `fwd=${plan.mustLoad ? 'request' : 'miss'}; stored`;
      case 'stale-if-error':
        return `hit; ttl=${ttl}; detail=stale-if-error`;
      default:
        return `hit; ttl=${ttl}`;
    }
  }
}

const cacheName = 'saved-query-gateway';

/** A strong tag tells codings of one body apart. */
function entityTag(digest: string, coding: Coding | undefined): string {
  return `"${digest}${coding === undefined ? '' : `-${coding}`}"`;
}

/**
 * Whether the caller has this very body already (RFC 9110, section 13.1.2).
 * @param ifNoneMatch the request's header: a list of tags, or `*`
 */
export function isNotModified(ifNoneMatch: string | undefined, tag: unknown): boolean {
  if (ifNoneMatch === undefined || typeof tag !== 'string') return false;
  if (ifNoneMatch.trim() === '*') return true;
  // The comparison is the weak one: a proxy may have marked our tag as weak.
  return ifNoneMatch.split(',').some(candidate => candidate.trim().replace(/^W\//, '') === tag);
}
