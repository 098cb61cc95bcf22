import type { IncomingHttpHeaders } from 'node:http';
import { requireScope } from '../auth/caller.ts';
import { countRequests } from '../auth/usage/meters.ts';
import { GatewayError, quoted } from '../base/errors.ts';
import { didYouMean } from '../base/nearest-name.ts';
import type { Source } from '../endpoints/source.ts';
import { readCredentials } from '../http-messages/caller-headers.ts';
import { maxRowsBytes } from '../http-messages/http-limits.ts';
import { streamBody } from '../http-messages/read-body.ts';
import type { RequestContext } from '../http-messages/request-context.ts';
import type { HttpResponse } from '../http-messages/send-response.ts';
import type { Loader } from '../loading/loader.ts';
import { redactMessage } from '../pipeline/representation.ts';
import type { PipelineDeps } from '../pipeline/run-endpoint.ts';
import { json } from './json-response.ts';

/** The loading of rows, and the sources. */
export type LoadingDeps = {
  readonly loader: Loader;
  readonly sources: readonly Source[];
  /** Whether a source is missing because its file is broken. */
  readonly isLeftOut: (name: string) => boolean;
};

/** What both routes that load rows need. */
export type LoadRouteDeps = {
  readonly pipeline: Pick<PipelineDeps, 'tokens' | 'redactKinds'>;
  readonly loading: LoadingDeps | undefined;
  readonly receiveTimeoutMs: number;
};

/**
 * Answers `POST /api/sources/<name>/rows`: loads rows, one line of JSON each, for tokens with the scope `write`. A success means that the
 * rows are on disk; lines that do not fit the source are rejected and counted.
 * @throws GatewayError `unauthorized`, `forbidden`, `source_not_found`, `invalid_request`, `invalid_body` if no line fits,
 * `body_too_large`, `request_timeout`, `overloaded`, `unavailable`
 */
export async function answerRows(
  { pipeline, loading, receiveTimeoutMs: timeoutMs }: LoadRouteDeps,
  { request }: RequestContext,
  name: string,
): Promise<HttpResponse> {
  const caller = await admitLoad(pipeline.tokens, request.headers, 'rows');
  if (!loading) throw new GatewayError('invalid_request', 'Rows are loaded into the embedded engine only');
  const source = loading.sources.find(each => each.name === name);
  if (!source) throw missingSource(loading, name);
  if (source.files) {
    throw new GatewayError(
      'invalid_request',
      `Source ${name} reads its files in place; nothing is loaded into it`,
    );
  }
  const body = streamBody(request, { maxBytes: maxRowsBytes, timeoutMs });
  const { rows, rejected, problems, ignoredFields, epochUnits } = await loading.loader.load(
    name,
    body,
    caller,
  );
  if (rows === 0 && rejected === 0) throw new GatewayError('invalid_body', 'The request body has no row');
  if (rows === 0) {
    const [first] = problems;
    throw new GatewayError(
      'invalid_body',
      `None of the ${rejected} lines is a row of ${name}; line ${first?.line}: ${first?.reason}`,
    );
  }
  const named = problems.map(({ line, reason }) => ({
    line,
    reason: redactMessage(reason, pipeline.redactKinds),
  }));
  return json({ rows, rejected, problems: named, ignoredFields, epochUnits });
}

/** The error for a missing source. Rows for one with a broken file can be sent again when it is repaired. */
export function missingSource(
  { isLeftOut, sources }: Pick<LoadingDeps, 'isLeftOut' | 'sources'>,
  name: string,
): GatewayError {
  const names = sources.map(source => source.name);
  return isLeftOut(name)
    ? new GatewayError('unavailable', `Source ${name} is not served: its file is wrong`)
    : new GatewayError('source_not_found', `No source is named ${quoted(name)}${didYouMean(name, names)}`);
}

/**
 * Checks that a caller may load rows, and counts the request.
 * @returns the id of the token
 * @throws GatewayError `unauthorized`, `forbidden`, `too_many_requests`
 */
export async function admitLoad(
  tokens: LoadRouteDeps['pipeline']['tokens'],
  headers: IncomingHttpHeaders,
  loaded: 'rows' | 'events',
): Promise<string> {
  const caller = await tokens.authenticate(readCredentials(headers));
  requireScope(caller, 'write');
  if (caller.fixedParameters) {
    throw new GatewayError('forbidden', `The access token fixes parameters, which ${loaded} do not have`);
  }
  countRequests(caller.meter, 1);
  return caller.tokenId;
}
