import { WebStandardStreamableHTTPServerTransport as HttpTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import {
  CallToolRequestSchema,
  InitializeRequestSchema,
  type JSONRPCErrorResponse,
  ReadResourceRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { GatewayError, quoted } from '../base/errors.ts';
import { hasMoreValues, parseJsonOrNot } from '../base/json.ts';
import { orAborted, withinDeadline } from '../base/time-limit.ts';
import { createSharedTurns } from '../base/turns.ts';
import { readCallerHeaders } from '../http-messages/caller-headers.ts';
import { chooseEncoding, encodeBody, preferredType } from '../http-messages/content-negotiation.ts';
import { maxBodyBytes } from '../http-messages/http-limits.ts';
import { ownHost } from '../http-messages/own-host.ts';
import type { RequestContext } from '../http-messages/request-context.ts';
import type { HttpResponse } from '../http-messages/send-response.ts';
import { identifyCaller } from '../pipeline/identify-caller.ts';
import { type Redaction, redactionOfMessages, redactMessage } from '../pipeline/representation.ts';
import type { PipelineDeps } from '../pipeline/run-endpoint.ts';
import { createMcpServer } from './mcp-server.ts';

/**
 * Answers `POST /mcp`: one message of the Model Context Protocol over its streamable HTTP transport, without a session.
 * Source: modelcontextprotocol.io, specification 2025-11-25, "Transports".
 * @param origins those of the CORS policy
 * @throws GatewayError `forbidden`, `unauthorized`, `too_many_requests`, `not_acceptable`, `body_too_large`, `deadline_exceeded`
 */
export async function answerMcp(
  deps: PipelineDeps,
  origins: readonly string[],
  context: RequestContext,
): Promise<HttpResponse> {
  const { request, requestId, facts } = context;
  requireOrigin(request.headers.origin, origins);
  const headers = readCallerHeaders(request.headers);
  const caller = await identifyCaller(deps.tokens, headers.credentials);
  facts.tokenId = caller.tokenId;
  if (!preferredType(request.headers.accept, mediaTypes)) {
    throw new GatewayError('not_acceptable', 'Accept excludes application/json');
  }
  const text = await context.readBody(maxBodyBytes);
  await sharedTurn(caller.tokenId);
  // One request, one query: batches left the protocol in 2025.
  if (/^\s*\[/.test(text)) return rpcError(400, -32600, 'Invalid Request: a batch; allowed: one message');
  // Parsed once, here: the protocol's library would read a text that JSON.parse refuses, such as one behind two marks U+FEFF.
  const message = parseJsonOrNot(text);
  if (message === undefined) return rpcError(400, -32700, 'Parse error: Invalid JSON');
  if (hasMoreValues([message], maxValues)) {
    return rpcError(400, -32600, `Invalid Request: more than ${maxValues} values; allowed: ${maxValues}`);
  }
  const redaction = redactionOfMessages(deps.redactKinds, headers, caller);
  const unfit = invalidParams(message, redaction);
  if (unfit) return unfit;
  return withinDeadline(context.signal, deps.queryTimeoutMs, async signal => {
    const server = createMcpServer(deps, { requestId, caller, headers, facts, signal });
    const transport = new HttpTransport({ sessionIdGenerator: undefined, enableJsonResponse: true });
    try {
      await server.connect(transport);
      const handled = transport.handleRequest(webRequest(context), { parsedBody: message });
      const response = await orAborted(handled, signal);
      if (!response.ok) return await transportFault(response, redaction);
      return await httpResponse(response, request.headers['accept-encoding'], caller.tokenId);
    } finally {
      await server.close();
    }
  });
}

/** A message takes a millisecond or two, because each gets its own server of the protocol's library. */
const sharedTurn = createSharedTurns(4);

/** Maximum JSON values of one message: the protocol's library checks each several times. */
const maxValues = 10_000;

type RequestSchema =
  | typeof CallToolRequestSchema
  | typeof InitializeRequestSchema
  | typeof ReadResourceRequestSchema;

/** Methods whose parameters agents write: what does not fit would be an internal error of the protocol's library. */
const written = new Map<unknown, RequestSchema>([
  ['initialize', InitializeRequestSchema],
  ['tools/call', CallToolRequestSchema],
  ['resources/read', ReadResourceRequestSchema],
]);

/** The answer to a request whose parameters do not have the form of its method. */
function invalidParams(message: unknown, redaction: Redaction): HttpResponse | undefined {
  const { id, method } = Object(message) as { readonly id?: unknown; readonly method?: unknown };
  const { error } = written.get(method)?.safeParse(message) ?? {};
  if (!error || (typeof id !== 'string' && typeof id !== 'number')) return undefined;
  const problems = error.issues.map(issue => `${issue.path.join('.')}: ${issue.message}`);
  const text = `Invalid params: ${problems.join('; ').slice(0, 500)}`;
  return rpcError(200, -32602, redactMessage(text, redaction), id);
}

/** Source: JSON-RPC 2.0, section 5. */
function rpcError(
  status: number,
  code: number,
  message: string,
  id: string | number | null = null,
): HttpResponse {
  return {
    status,
    headers: { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' },
    body: Buffer.from(JSON.stringify({ jsonrpc: '2.0', error: { code, message }, id })),
  };
}

/** A refusal of the library's transport, which repeats a version of the protocol that it does not know. */
async function transportFault(response: Response, redaction: Redaction): Promise<HttpResponse> {
  const { error } = (await response.json()) as JSONRPCErrorResponse; // as all its refusals are
  return rpcError(response.status, error.code, redactMessage(error.message, redaction));
}

/** Origins of pages on this machine, which may always call; other pages only if the configuration names their origin. */
const loopback = new RegExp(`^https?://${ownHost}(?::\\d+)?$`);

/**
 * Checks Origin, as the protocol requires, against DNS rebinding: pages whose name is made to resolve to this server. So `*` permits
 * no page here.
 */
function requireOrigin(origin: string | undefined, origins: readonly string[]): void {
  if (origin === undefined || loopback.test(origin) || origins.includes(origin)) return;
  throw new GatewayError(
    'forbidden',
    `Pages of ${quoted(origin)} may not call /mcp; allowed: this machine, and origins that CORS_ORIGINS names`,
  );
}

/** The media type of an answer, by the range in the client's Accept header. */
const mediaTypes = new Map(
  ['application/json', 'application/*', '*/*'].map(range => [range, 'application/json']),
);

/** The headers that the transport reads, besides Accept. */
const transportHeaders = ['content-type', 'mcp-protocol-version'] as const;

/**
 * The request for the library, which gets the parsed message separately. The library refuses clients that do not accept a stream of
 * events by name, even those that accept anything; no answer here is such a stream, so the library is told that every client accepts one.
 */
function webRequest({ request }: RequestContext): Request {
  const headers = new Headers({ accept: 'application/json, text/event-stream' });
  for (const name of transportHeaders) {
    const value = request.headers[name];
    if (value !== undefined) headers.set(name, String(value));
  }
  return new Request('http://gateway/mcp', { method: 'POST', headers });
}

async function httpResponse(
  response: Response,
  acceptEncoding: string | undefined,
  caller: string,
): Promise<HttpResponse> {
  const plain = Buffer.from(await response.arrayBuffer());
  const encoding = chooseEncoding(acceptEncoding, plain.length);
  return {
    status: response.status,
    headers: {
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-store',
      ...(encoding && { 'content-encoding': encoding }),
    },
    body: encoding ? await encodeBody(plain, encoding, { isKept: false, caller }) : plain,
  };
}
