import type { IncomingHttpHeaders } from 'node:http';

/** Whether the request says `Cache-Control: no-cache` (RFC 9111, section 5.2.1.4). */
export function readsNoCache(headers: IncomingHttpHeaders): boolean {
  return (
    headers['cache-control'] !== undefined && /(?:^|,)\s*no-cache\s*(?:,|$)/i.test(headers['cache-control'])
  );
}
