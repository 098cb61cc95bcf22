import type { DocumentNode, ExecutionResult, GraphQLSchema } from 'graphql';
import { createYoga, type Plugin } from 'graphql-yoga';
import { LRUCache } from 'lru-cache';
import type { Caller } from '../auth/caller.ts';
import { countRequests } from '../auth/usage/meters.ts';
import { GatewayError, toGatewayError } from '../base/errors.ts';
import { withinDeadline } from '../base/time-limit.ts';
import { createSharedTurns } from '../base/turns.ts';
import type { EndpointRegistry } from '../endpoints/registry.ts';
import { createFairQueue } from '../engine/fair-queue.ts';
import { readCallerHeaders } from '../http-messages/caller-headers.ts';
import {
  chooseEncoding,
  encodeBody,
  preferredType,
  prefersHtml,
} from '../http-messages/content-negotiation.ts';
import { maxBodyBytes } from '../http-messages/http-limits.ts';
import { requireJsonType } from '../http-messages/read-json-body.ts';
import type { RequestContext } from '../http-messages/request-context.ts';
import type { HttpResponse } from '../http-messages/send-response.ts';
import { redactError } from '../pipeline/representation.ts';
import type { PipelineDeps } from '../pipeline/run-endpoint.ts';
import { buildSchema } from './build-schema.ts';
import { failedResponse, faultOf, maskError, sameErrorCodes } from './graphql-errors.ts';
import { introspectionScope, readableSuggestions } from './introspection.ts';
import { limits } from './limit-documents.ts';
import { openBudget, ownTurn } from './operation-budget.ts';
import { extensionsOf, type OperationContext, openContext } from './operation-context.ts';
import { type PersistedOperations, persistedOperations } from './persisted-operations.ts';
import { renderResult } from './render-result.ts';
import { repeatOf, vary } from './repeat-result.ts';

type GraphqlOptions = {
  readonly pipeline: PipelineDeps;
  readonly endpoints: EndpointRegistry;
  /** The GraphiQL page for browsers; absent if it is not served. */
  readonly page:
    | ((acceptEncoding: string | undefined) => Promise<HttpResponse | undefined> | undefined)
    | undefined;
  readonly persisted: PersistedOperations;
  /** Called with bugs; the caller gets only the request's id. */
  readonly onFault: (requestId: string, cause: unknown) => void;
  /** Called with the code of each error. */
  readonly onRefused: (code: string) => void;
};

/** The media type of a result, by the range in the client's Accept header. */
const mediaTypes = new Map([
  ['application/graphql-response+json', 'application/graphql-response+json'],
  ['application/json', 'application/json'],
  ['application/*', 'application/json'],
  ['*/*', 'application/json'],
]);

/** Large operations: how many run at the same time (at most two of one caller), and how many may wait. */
const largeOptions = { permits: 3, maxWaiting: 64, maxWaitingPerCaller: 16 };

/**
 * Maximum characters of a request that shares a turn of the event loop with others: a document of a hundred fields has some seven
 * thousand, and takes ten milliseconds if all of them are hits.
 */
const maxSharedLength = 2048;

/** Total characters of the documents whose syntax trees are kept; a tree takes a hundred times the memory of its text. */
const maxDocumentLength = 256 * 1024;

/**
 * Makes the handler of the GraphQL route (contract 3.1): GraphQL over HTTP, with the tokens, errors and entries of REST.
 * Every failure becomes a response; the handler never rejects.
 */
export function createGraphqlHandler(
  options: GraphqlOptions,
): (context: RequestContext) => Promise<HttpResponse> {
  const { pipeline, endpoints, page, onFault, onRefused } = options;
  const yoga = createYoga<OperationContext>({
    schema: currentSchema(endpoints),
    graphqlEndpoint: '/graphql',
    graphiql: false,
    landingPage: false,
    cors: false,
    logging: false,
    // Yoga answers every URL with this ending with an empty 200; no URL ends with a line break.
    healthCheckEndpoint: '\n',
    maskedErrors: { maskError },
    parserAndValidationCache: {
      documentCache: documentCache<DocumentNode>(),
      errorCache: documentCache<Error>(),
    },
    plugins: [
      limits,
      persistedOperations(options.persisted),
      introspectionScope,
      sameErrorCodes,
      readableSuggestions(endpoints),
      cacheExtensions,
      reportErrors(options),
      keepResult,
    ],
  });
  const largeOperations = createFairQueue(largeOptions);

  /** @param signal aborts when the caller leaves or its deadline passes; fields that have their rows by then are still answered */
  async function execute(context: RequestContext, signal: AbortSignal): Promise<HttpResponse> {
    const { request, requestId, facts, queryText } = context;
    const headers = readCallerHeaders(request.headers);
    const found = pipeline.tokens.authenticate(headers.credentials);
    // Awaited only if it is a promise: a malformed body may arrive at once, and its reader must be in place by then.
    const caller = found instanceof Promise ? await found : found;
    countRequests(caller.meter, 1);
    // Yoga gets only this type: if the client also accepts a stream, Yoga would open one.
    const accept = preferredType(request.headers.accept, mediaTypes);
    if (!accept) throw notAcceptable();
    const asked = { requestId, facts, signal, headers, caller };
    rejectForms(request);
    const body = await readOperation(context, caller);
    const budget = openBudget(inner => largeOperations.take(inner, { caller: caller.tokenId }));
    try {
      const operation = openContext(pipeline, asked, budget);
      // By now every POST has this type, perhaps in a spelling that Yoga does not know.
      const sent = { accept, 'content-type': 'application/json' };
      const response = await yoga.fetch(
        `http://gateway/graphql?${queryText}`,
        { method: request.method, headers: sent, body, signal: context.signal },
        operation,
      );
      return await encoded(context, await toResponse(response, operation), operation, pipeline);
    } finally {
      budget.close();
    }
  }

  return async context => {
    const { method, headers } = context.request;
    try {
      // The page needs no token. GraphiQL shows the query in its address, so that links can be shared.
      const shown =
        method === 'GET' && prefersHtml(headers.accept)
          ? await page?.(headers['accept-encoding'])
          : undefined;
      if (shown) return shown;
      return await withinDeadline(context.signal, pipeline.queryTimeoutMs, signal =>
        execute(context, signal),
      );
    } catch (thrown) {
      // Before the operation it is unknown whether the caller may see personal data.
      const error = toGatewayError(redactError(thrown, pipeline.redactKinds));
      if (error.code === 'internal') onFault(context.requestId, error.cause);
      onRefused(error.code);
      return failedResponse(error, context.requestId, preferredType(headers.accept, mediaTypes));
    }
  };
}

/** A short operation takes half a millisecond before it waits for its rows, and another half afterwards. */
const sharedTurn = createSharedTurns(16);

/** @returns the body of a POST */
async function readOperation(context: RequestContext, { tokenId }: Caller): Promise<string | undefined> {
  const { request, queryText } = context;
  const body = request.method === 'POST' ? await context.readBody(maxBodyBytes) : undefined;
  const turn = (body ?? queryText).length > maxSharedLength ? ownTurn : sharedTurn;
  await turn(tokenId);
  return body;
}

/** The schema of the current saved queries, rebuilt when one changes. */
function currentSchema(endpoints: EndpointRegistry): () => GraphQLSchema {
  let built: { version: number; schema: GraphQLSchema } | undefined;
  return () => {
    if (built?.version !== endpoints.version) {
      built = { version: endpoints.version, schema: buildSchema(endpoints.all()) };
    }
    return built.schema;
  };
}

/** Keeps results of parsing and validation by the text of the document. */
function documentCache<Value extends object>() {
  return new LRUCache<string, Value>({
    maxSize: maxDocumentLength,
    sizeCalculation: (_value, text) => text.length + 1,
  });
}

/**
 * Accepts only JSON in a POST: the types that a page of another origin may send without a preflight, such as forms, are 415. Tokens come
 * in headers, which such a page can't set, so this is a second line of defence.
 * @throws GatewayError `unsupported_media_type`
 */
function rejectForms({ method, headers }: RequestContext['request']): void {
  if (method === 'POST') requireJsonType(headers['content-type']);
}

function reportErrors({
  onFault,
  onRefused,
}: Pick<GraphqlOptions, 'onFault' | 'onRefused'>): Plugin<OperationContext, OperationContext> {
  return {
    onResultProcess({ result, serverContext }) {
      if (Array.isArray(result) || !('errors' in result)) return;
      for (const error of result.errors ?? []) {
        const fault = faultOf(error);
        if (fault) onFault(serverContext.requestId, fault.cause);
        onRefused(String(error.extensions.code));
      }
    },
  };
}

/** Leaves status and headers to Yoga; `renderResult` writes the result, within the operation's budget. */
const keepResult: Plugin<OperationContext, OperationContext> = {
  onResultProcess({ result, setResult, serverContext }) {
    const stringify = (sanitized: object) => {
      serverContext.output.result = sanitized;
      return '';
    };
    // A result that was not executed has no extensions yet.
    const { extensions = { request_id: serverContext.requestId } } = result as ExecutionResult;
    setResult({ ...result, extensions, stringify });
  },
};

const cacheExtensions: Plugin<OperationContext> = {
  onExecute: ({ args }) => ({
    onExecuteDone: ({ result, setResult }) => {
      if (Symbol.asyncIterator in result) return;
      // Yoga's type leaves the context open; it is that of openContext.
      const context = args.contextValue as OperationContext;
      setResult({ ...result, extensions: { ...result.extensions, ...extensionsOf(context) } });
    },
  }),
};

/** @throws GatewayError for an operation that is over its budget */
async function toResponse(
  response: Response,
  { budget, output: { result } }: OperationContext,
): Promise<HttpResponse> {
  budget.signal.throwIfAborted();
  const body = result ? await renderResult(result, budget) : Buffer.from(await response.arrayBuffer());
  return {
    status: response.status,
    headers: {
      'cache-control': 'no-store',
      ...Object.fromEntries([...response.headers].map(([name, value]) => [name.toLowerCase(), value])),
    },
    body,
  };
}

function notAcceptable(): GatewayError {
  return new GatewayError(
    'not_acceptable',
    'Accept excludes application/json and application/graphql-response+json',
  );
}

/** Compresses a response for a client that accepts it. */
async function encoded(
  { request }: RequestContext,
  response: HttpResponse,
  operation: OperationContext,
  pipeline: PipelineDeps,
): Promise<HttpResponse> {
  const { body } = response;
  const encoding = chooseEncoding(request.headers['accept-encoding'], body.length);
  const headers = { ...response.headers, vary };
  if (!encoding) return { ...response, headers, repeat: repeatOf(pipeline, response, operation) };
  return {
    ...response,
    headers: { ...headers, 'content-encoding': encoding },
    body: await encodeBody(body, encoding, { isKept: false, caller: operation.caller.tokenId }),
  };
}
