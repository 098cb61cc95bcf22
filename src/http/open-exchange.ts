import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { GatewayError } from '../errors.ts';
import type { Exchange } from '../exchange.ts';
import { readBody } from './read-body.ts';

/** Reads what every route needs to know of a request; its signal aborts when the caller goes away. */
export function openExchange(request: IncomingMessage, response: ServerResponse): Exchange {
  const caller = new AbortController();
  response.once('close', () => {
    if (!response.writableFinished) caller.abort(new GatewayError('cancelled', 'The caller went away'));
  });
  const [path = '', queryText = ''] = splitOnce((request.url ?? '').replace(/^https?:\/\/[^/?]*/i, ''), '?');
  return {
    request,
    requestId: readRequestId(request),
    path: path.length > 1 ? path.replace(/\/$/, '') : '/',
    queryText,
    signal: caller.signal,
    readBody: maxBytes => readBody(request, maxBytes),
  };
}

function splitOnce(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}

function readRequestId({ headers }: IncomingMessage): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && /^[\w.:-]{1,128}$/.test(given) ? given : randomUUID();
}
