import type { IncomingHttpHeaders } from 'node:http';

/**
 * Finds the access token of a request: `Authorization: Bearer <token>`, else `X-API-KEY` (contract 2.3).
 * @returns the token as presented; an empty text for a Bearer without one; undefined when neither header is there
 */
export function readCredentials(headers: IncomingHttpHeaders): string | undefined {
  const bearer = /^bearer(?:\s+(.*))?$/i.exec(headers.authorization ?? '');
  if (bearer) return (bearer[1] ?? '').trim();
  const key = headers['x-api-key'];
  return Array.isArray(key) ? key[0] : key;
}
