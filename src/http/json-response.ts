import type { HttpResponse } from '../http-messages/send-response.ts';

/** A 200 with a value as JSON that no cache may store: it depends on the caller, or changes any moment. */
export const privateJson = (value: object) => privateJsonText(JSON.stringify(value));

/** The same for a value that is already rendered. */
export function privateJsonText(text: string): HttpResponse {
  return {
    status: 200,
    headers: { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' },
    body: Buffer.from(text),
  };
}

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
