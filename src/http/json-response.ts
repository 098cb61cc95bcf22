import type { HttpResponse } from '../http-messages/send-response.ts';

/** A 200 with a value as JSON, which caches must revalidate each time. */
export const json = (value: object) => documentBytes(Buffer.from(JSON.stringify(value)), 'application/json');

/** The same for text that is already rendered. */
export function documentBytes(body: Buffer, type: string): HttpResponse {
  return {
    status: 200,
    headers: { 'content-type': `${type}; charset=utf-8`, 'cache-control': 'no-cache' },
    body,
  };
}
