import { GatewayError, quoted } from '../base/errors.ts';
import type { Source } from '../endpoints/source.ts';
import { streamBody } from '../http-messages/read-body.ts';
import { readQueryString } from '../http-messages/read-query-string.ts';
import type { RequestContext } from '../http-messages/request-context.ts';
import type { HttpResponse } from '../http-messages/send-response.ts';
import { type BodyEncoding, bodyEncodings, maxEventsBytes } from '../loading/events/read-encoded.ts';
import { admitLoad, type LoadingDeps, type LoadRouteDeps, missingSource } from './answer-rows.ts';
import { json } from './json-response.ts';

/**
 * Answers `POST /api/logs`: accepts log events for a source, as Logflare does, for tokens with the scope `write`. A success means that they
 * are on disk.
 * @throws GatewayError `unauthorized`, `forbidden`, `source_not_found`, `invalid_request`, `invalid_body` if there is no
 * event in the body, `unsupported_media_type`, `body_too_large`, `request_timeout`, `overloaded`, `unavailable`
 */
export async function answerLogs(
  { pipeline, loading, receiveTimeoutMs: timeoutMs }: LoadRouteDeps,
  { request, readQuery }: RequestContext,
): Promise<HttpResponse> {
  const caller = await admitLoad(pipeline.tokens, request.headers, 'events');
  if (!loading) throw new GatewayError('invalid_request', 'Events are taken by the embedded engine only');
  const source = findSource(loading, readQueryString(await readQuery()));
  const encoding = readContentEncoding(request.headers['content-encoding']);
  const body = streamBody(request, { maxBytes: maxEventsBytes, timeoutMs });
  const taken = await loading.loader.loadEvents(source.name, { body, encoding }, caller);
  const { events, rejected, problem } = taken;
  if (events === 0 && rejected > 0) {
    throw new GatewayError('invalid_body', `The request body has no event: ${problem}`);
  }
  return json({ message: 'Logged!', events, ...(rejected > 0 && { rejected, problem }) });
}

function findSource(loading: LoadingDeps, { source_name: name, source: id }: Record<string, string>): Source {
  const wanted = name || id;
  if (!wanted) throw new GatewayError('invalid_request', 'Parameter source_name or source is missing');
  const source = loading.sources.find(each => each.name === wanted || each.id === wanted.toLowerCase());
  if (!source) throw missingSource(loading, wanted);
  if (!source.files) return source;
  throw new GatewayError('invalid_request', `Source ${wanted} reads its files in place; it takes no events`);
}

function readContentEncoding(header: string | undefined): BodyEncoding | undefined {
  const name = header?.trim().toLowerCase().replace(/^x-/, '');
  if (!name || name === 'identity') return undefined;
  const encoding = bodyEncodings.find(each => each === name);
  if (encoding) return encoding;
  throw new GatewayError(
    'unsupported_media_type',
    `Content-Encoding is ${quoted(header)}; allowed: ${bodyEncodings.join(', ')}`,
  );
}
