import { GatewayError } from '../base/errors.ts';
import { ownHost } from '../http-messages/own-host.ts';
import type { RequestContext } from '../http-messages/request-context.ts';
import type { HttpResponse } from '../http-messages/send-response.ts';
import { privateJson } from './json-response.ts';

/** What the page of a first start gets without a token: the token that the gateway made itself, and parameter values that have rows. */
export type PageSample = { readonly token: string; readonly parameters: Readonly<Record<string, string>> };

/** Host headers of this machine; if a foreign name resolves to it, the header has that name. */
const hostHeader = new RegExp(`^${ownHost}(?::\\d+)?$`, 'i');
const proxyHeaders = [
  'forwarded',
  'via',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-real-ip',
];
const ownAddress = /^(?:::1|(?:::ffff:)?127\.\d+\.\d+\.\d+)$/;

/**
 * Answers `GET /api/sample`: with the token of a first start, but only to the gateway's own page in a browser on the same machine
 * (decision 70). All others get `{}`.
 * @throws GatewayError `forbidden` for a page of another origin
 */
export function answerSample(sample: PageSample | undefined, { request }: RequestContext): HttpResponse {
  const { headers, socket, httpVersionMinor } = request;
  // Browsers set it, and pages can't change it. Without this check a page of another origin could read the answer: by default CORS allows any.
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin') {
    throw new GatewayError('forbidden', 'Only the page of this gateway may ask');
  }
  // Behind a proxy on this machine every caller would seem local. nginx by default adds no header, but does not send HTTP/1.1 with
  // `Connection: keep-alive`, as every browser does.
  const asksAsBrowser = httpVersionMinor > 0 && headers.connection?.toLowerCase() === 'keep-alive';
  const isProxied = !asksAsBrowser || proxyHeaders.some(name => headers[name] !== undefined);
  const isHere = hostHeader.test(headers.host ?? '') && ownAddress.test(socket.remoteAddress ?? '');
  const isGiven = sample !== undefined && site === 'same-origin' && isHere && !isProxied;
  return privateJson(isGiven ? sample : {});
}
