import { GatewayError } from '../base/errors.ts';
import { describeDialect } from '../googlesql/describe-dialect.ts';
import { chooseEncoding, encodeBody, prefersHtml } from '../http-messages/content-negotiation.ts';
import type { RequestContext } from '../http-messages/request-context.ts';
import type { HttpResponse } from '../http-messages/send-response.ts';
import type { PageSample } from './answer-sample.ts';
import { documentBytes, json } from './json-response.ts';
import type { PageFiles } from './page-files.ts';

/** What the routes of the pages for browsers need. */
export type PageDeps = {
  /** Absent if no pages are served. */
  readonly pages: PageFiles | undefined;
  /** Whether browsers get GraphiQL at `/graphql`. */
  readonly hasGraphiql: boolean;
  /** What the page gets without a token; absent unless this gateway made its token itself, for this machine alone. */
  readonly sample: PageSample | undefined;
};

// These routes need no token: the pages contain no data, and send requests with their reader's token.

/**
 * Answers `GET /assets/<file>`.
 * @throws GatewayError `route_not_found`
 */
export async function answerAsset(
  { pages }: PageDeps,
  { request }: RequestContext,
  file: string,
): Promise<HttpResponse> {
  if (!pages) throw new GatewayError('route_not_found', 'This gateway serves no pages');
  return pages.asset(file, request.headers['accept-encoding']);
}

/**
 * Answers `GET /docs`.
 * @throws GatewayError `route_not_found`
 */
export async function answerDocs({ pages }: PageDeps, { request }: RequestContext): Promise<HttpResponse> {
  const page = await pages?.page('docs', request.headers['accept-encoding']);
  if (page) return page;
  throw new GatewayError(
    'route_not_found',
    'This gateway serves no pages; the OpenAPI document is at /openapi.json',
  );
}

/** Answers `GET /api/dialect`. */
export async function answerDialect(_: PageDeps, { request }: RequestContext): Promise<HttpResponse> {
  return encoded(documentBytes(dialectJson(), 'application/json'), request.headers['accept-encoding']);
}

/** Answers `GET /`: browsers get the page, programs the links. */
export async function answerHome(
  { pages, hasGraphiql }: PageDeps,
  { request: { headers } }: RequestContext,
): Promise<HttpResponse> {
  const page = prefersHtml(headers.accept)
    ? await pages?.page('explorer', headers['accept-encoding'])
    : undefined;
  const response = page ?? json(hasGraphiql ? { ...home, graphiql: '/graphql' } : home);
  return { ...response, headers: { ...response.headers, vary: 'Accept, Accept-Encoding' } };
}

/** Links for a program that asks for `/`. */
const home = {
  service: 'saved-query-gateway',
  endpoints: '/api/endpoints',
  graphql: '/graphql',
  mcp: '/mcp',
  openapi: '/openapi.json',
  docs: '/docs',
  health: '/health',
  live: '/livez',
  ready: '/readyz',
  metrics: '/metrics',
};

let dialect: Buffer | undefined;

/** The dialect for the page's editor, rendered at the first request. */
function dialectJson(): Buffer {
  dialect ??= Buffer.from(JSON.stringify(describeDialect()));
  return dialect;
}

async function encoded(response: HttpResponse, acceptEncoding: string | undefined): Promise<HttpResponse> {
  const encoding = chooseEncoding(acceptEncoding, response.body.length);
  const vary = { vary: 'Accept-Encoding' };
  if (!encoding) return { ...response, headers: { ...response.headers, ...vary } };
  return {
    ...response,
    headers: { ...response.headers, ...vary, 'content-encoding': encoding },
    body: await encodeBody(response.body, encoding, { isKept: true, caller: '' }),
  };
}
