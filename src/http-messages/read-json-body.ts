import { GatewayError, jsonFault, quoted } from '../base/errors.ts';
import type { RequestContext } from './request-context.ts';

/**
 * Reads a JSON object from a request body; an empty body is an empty object. It has no prototype.
 * @throws GatewayError `unsupported_media_type`, `body_too_large`, `invalid_body`
 */
export async function readJsonBody(
  context: RequestContext,
  maxBytes: number,
): Promise<Record<string, unknown>> {
  const type = context.request.headers['content-type'];
  if (type !== undefined) requireJsonType(type);
  const text = await context.readBody(maxBytes);
  if (text.trim() === '') return Object.create(null);
  const value = parseJson(text);
  // Not copied: that would take 100 ms for a hundred thousand members.
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return Object.setPrototypeOf(value, null);
  throw new GatewayError('invalid_body', 'The request body is JSON, but not an object of parameters');
}

/** @throws GatewayError `unsupported_media_type` unless a Content-Type says that the body is JSON */
export function requireJsonType(contentType: string | undefined): void {
  if (/^application\/(?:[a-z0-9.+-]+\+)?json\s*(?:;|$)/i.test(contentType ?? '')) return;
  const given = contentType === undefined ? 'missing' : quoted(contentType);
  throw new GatewayError('unsupported_media_type', `Content-Type is ${given}; allowed: application/json`);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const reason = jsonFault(error as Error); // JSON.parse throws nothing else
    throw new GatewayError('invalid_body', `The request body is not JSON: ${reason.slice(0, 120)}`);
  }
}
