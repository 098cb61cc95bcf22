import type { OutgoingHttpHeaders } from 'node:http';
import type { Receipt } from '../base/rows.ts';
import { type RowFormat, rowFormats } from '../formats/row-formats.ts';
import type { ContentEncoding } from '../http-messages/content-negotiation.ts';
import { vary } from '../http-messages/render-error.ts';
import type { Answer } from '../pipeline/run-endpoint.ts';

/** The format and encoding in which a body is sent. */
export type BodyForm = { readonly format: RowFormat; readonly encoding: ContentEncoding | undefined };

/** The headers of a response with rows, except `Server-Timing` and those of all routes. */
export function rowsHeaders(answer: Answer, form: BodyForm): OutgoingHttpHeaders {
  const { format, encoding } = form;
  const headers = cacheHeaders(answer, form);
  if (answer.receipt) headers['query-receipt'] = receiptHeader(answer.receipt);
  if (answer.isTruncated) {
    headers['result-truncated'] = '?1'; // a Boolean of RFC 9651
    headers['result-max-rows'] = answer.endpoint.maxRows;
  }
  headers['content-type'] = rowFormats[format].contentType;
  // A browser saves such a body under this name. Names of saved queries are safe in a quoted string.
  if (format !== 'json')
    headers['content-disposition'] = `attachment; filename="${answer.endpoint.name}.${format}"`;
  if (encoding) headers['content-encoding'] = encoding;
  return headers;
}

/**
 * The headers that report where an answer came from, and who may keep it for how long (contract 5.10).
 * Source: RFC 9110 (ETag, Vary), RFC 9111 (Age, Cache-Control), RFC 5861 (stale-…), RFC 9211 (Cache-Status).
 */
function cacheHeaders(answer: Answer, form: BodyForm): OutgoingHttpHeaders {
  const { endpoint, cache, bodyDigest, plan, isOutdated } = answer;
  if (cache.state === 'off' || bodyDigest === undefined) {
    return {
      'cache-control': 'no-store',
      'x-cache': 'BYPASS',
      'cache-status': `${cacheName}; fwd=bypass`,
      vary,
    };
  }
  const { cacheSeconds, staleSeconds, staleIfErrorSeconds } = endpoint;
  // Loaded rows make an entry stale at any age: other caches must not treat it as fresh.
  const isStale = cache.state === 'stale' || cache.state === 'stale-if-error' || isOutdated;
  const freshSeconds = isStale ? Math.min(cacheSeconds, cache.ageSeconds) : cacheSeconds;
  const ttl = freshSeconds - cache.ageSeconds;
  return {
    etag: entityTag(bodyDigest, form),
    age: String(cache.ageSeconds),
    'cache-control':
      `${endpoint.public ? 'public' : 'private'}, max-age=${freshSeconds}` +
      `, stale-while-revalidate=${staleSeconds}, stale-if-error=${staleIfErrorSeconds}`,
    // nginx counts max-age from its own request, whatever Age is, and prefers this header. In a 304 it ignores a 0 here and uses max-age,
    // so a stale answer gets one second, after which the refresh may be done.
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

/** A strong tag differs between the formats and encodings of the same rows. */
function entityTag(digest: string, { format, encoding }: BodyForm): string {
  const ofFormat = format === 'json' ? '' : `-${format}`;
  return `"${digest}${ofFormat}${encoding === undefined ? '' : `-${encoding}`}"`;
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

/** The headers of a 304: without those that describe a body, which it does not have. */
export function withoutContent(headers: Readonly<OutgoingHttpHeaders>): OutgoingHttpHeaders {
  const {
    'content-type': _type,
    'content-encoding': _encoding,
    'content-disposition': _name,
    ...others
  } = headers;
  return others;
}

/**
 * Renders the cost of a query as the header `Query-Receipt`: a dictionary of structured fields.
 * Source: RFC 9651, sections 3.2 and 4.1.
 */
function receiptHeader({ bytesProcessed, bytesBilled, slotMs, jobId }: Receipt): string {
  const members = [`bytes-processed=${integer(bytesProcessed)}`];
  if (bytesBilled !== undefined) members.push(`bytes-billed=${integer(bytesBilled)}`);
  if (slotMs !== undefined) members.push(`slot-ms=${integer(slotMs)}`);
  if (jobId !== undefined) members.push(`job-id=${string(jobId)}`);
  return members.join(', ');
}

/** A structured field's integer has at most 15 digits. */
function integer(value: number): string {
  return String(Math.min(Math.round(value), 999_999_999_999_999));
}

/** A structured field's string holds printable ASCII alone. */
function string(text: string): string {
  return `"${text.replace(/[^ -~]/g, '').replace(/["\\]/g, '\\$&')}"`;
}
