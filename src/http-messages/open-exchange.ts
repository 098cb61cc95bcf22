import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { GatewayError } from '../base/errors.ts';
import type { Exchange } from './exchange.ts';
import { decodeBody, readBody } from './read-body.ts';

type ExchangeOptions = {
  readonly requestId: string;
  /** The body, where it was read already. */
  readonly bodyBytes: Buffer | undefined;
  /** Milliseconds in which at least a part of the body must arrive. */
  readonly receiveTimeoutMs: number;
  /** Holds what aborts the exchanges under way. */
  readonly aborts: Set<AbortController>;
};

/** Reads what every route needs to know of a request; its signal aborts when the caller goes away, or the gateway stops. */
export function openExchange(
  request: IncomingMessage,
  response: ServerResponse,
  { requestId, bodyBytes, receiveTimeoutMs: timeoutMs, aborts }: ExchangeOptions,
): Exchange {
  const caller = new AbortController();
  aborts.add(caller);
  response.once('close', () => {
    aborts.delete(caller);
    if (!response.writableFinished) caller.abort(new GatewayError('cancelled', 'The caller went away'));
  });
  return {
    request,
    requestId,
    path: pathOf(request),
    queryText: splitTarget(request)[1],
    signal: caller.signal,
    readBody: async maxBytes =>
      bodyBytes ? decodeBody(bodyBytes) : readBody(request, { maxBytes, timeoutMs }),
  };
}

/** The caller's own `X-Request-Id` where it has a plain one, else a new one. */
export function readRequestId({ headers }: IncomingMessage): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && /^[\w.:-]{1,128}$/.test(given) ? given : randomUUID();
}

/** The path as it came over the wire, without a trailing slash. */
export function pathOf(request: IncomingMessage): string {
  const [path] = splitTarget(request);
  return path.length > 1 ? path.replace(/\/$/, '') : '/';
}

/** Path and query string; a target may be a whole URL (RFC 9112, section 3.2.2). */
export function splitTarget({ url = '' }: IncomingMessage): [string, string] {
  const target = url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?]*/i, '');
  const at = target.indexOf('?');
  return at < 0 ? [target, ''] : [target.slice(0, at), target.slice(at + 1)];
}
