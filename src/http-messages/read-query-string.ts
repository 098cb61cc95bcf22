import { GatewayError, quoted } from '../base/errors.ts';

const none: ReadonlySet<string> = new Set();

/**
 * Reads the parameters of a query string; a name given twice has its last value (contract 2.8).
 * @param text as received, without the `?`
 * @throws GatewayError `invalid_request` if an escape or its UTF-8 is malformed
 */
export function readQueryString(text: string): Record<string, string>;
/** @param lists names that keep all their values: an array if one is given more than once */
export function readQueryString(text: string, lists: ReadonlySet<string>): Record<string, string | string[]>;
export function readQueryString(text: string, lists = none): Record<string, string | string[]> {
  const parameters: Record<string, string | string[]> = Object.create(null);
  for (const pair of text.split('&')) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    const name = decodeComponent(equals < 0 ? pair : pair.slice(0, equals), 'A parameter name');
    const value = equals < 0 ? '' : pair.slice(equals + 1);
    const decoded = decodeComponent(value, `Parameter ${quoted(name)}`);
    const known = parameters[name];
    if (known === undefined || !lists.has(name)) parameters[name] = decoded;
    else if (Array.isArray(known)) known.push(decoded);
    else parameters[name] = [known, decoded];
  }
  return parameters;
}

/** Decodes one path segment, in which `+` is a plus. */
export function decodePathSegment(segment: string): string {
  return decodeComponent(segment.replaceAll('+', '%2B'), 'The path');
}

function decodeComponent(text: string, what: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw new GatewayError(
      'invalid_request',
      `${what} is not percent-encoded UTF-8; allowed: escapes such as %20 or %C3%A9`,
    );
  }
}
