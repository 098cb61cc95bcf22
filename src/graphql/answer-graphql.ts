import { type DocumentNode, GraphQLError, type GraphQLSchema, parse, validate } from 'graphql';
import { createYoga, type Plugin } from 'graphql-yoga';
import { LRUCache } from 'lru-cache';
import { GatewayError, toGatewayError } from '../base/errors.ts';
import type { EndpointRegistry } from '../endpoints/registry.ts';
import { chooseCoding, codeBody } from '../http-messages/content-coding.ts';
import type { Exchange, ReadyContent, Reply, WholeRequest } from '../http-messages/exchange.ts';
import { readCredentials } from '../http-messages/read-credentials.ts';
import type { PipelineDeps } from '../pipeline/run-endpoint.ts';
import { withinDeadline } from '../pipeline/within-deadline.ts';
import { buildSchema } from './build-schema.ts';
import { failedReply, faultOf, maskError, sameErrorCodes } from './graphql-errors.ts';
import { createLargeOperations } from './large-operations.ts';
import { limitComparisons } from './limit-comparisons.ts';
import { limitIntrospection } from './limit-introspection.ts';
import { limitNesting, malformed } from './limit-nesting.ts';
import { limitRootFields } from './limit-root-fields.ts';
import { openBudget } from './operation-budget.ts';
import { extensionsOf, type OperationContext, openContext } from './operation-context.ts';
import { renderResult } from './render-result.ts';
import { createResponseMemo } from './response-memo.ts';

type GraphqlOptions = {
  readonly pipeline: PipelineDeps;
  readonly endpoints: EndpointRegistry;
  /** Serve the GraphiQL page to browsers. */
  readonly graphiql: boolean;
  /** Hears of faults of ours; the caller is told none of it but the request's id. */
  readonly onFault: (requestId: string, cause: unknown) => void;
};

/** Saved queries one document may ask for, fragments that it may have and spread, equal names in one selection, fields of its introspection, levels and tokens of its text, bytes of its request. */
const maxRootFields = 100;
const maxFragments = 100;
const maxRepeats = 10;
const maxIntrospectionFields = 50_000;
const maxNesting = 50;
const maxTokens = 5_000;
const maxBodyBytes = 1024 * 1024;

/** Large operations that go on, and that wait, at the same time. */
const maxLarge = 2;
const maxLargeWaiting = 16;

/** Characters of the documents that are kept as parsed; a syntax tree takes a hundred times the memory of its text. */
const maxDocumentLength = 256 * 1024;

/** The GraphQL door (contract 3.1): GraphQL over HTTP, with the tokens, errors and entries of REST. */
export type GraphqlDoor = {
  /** Reads the request and answers it; whatever fails is a reply too. */
  answer(exchange: Exchange): Promise<Reply>;
  /** Answers a request that came before in the same words, where all its entries are at hand and unchanged. */
  answerAtOnce(request: WholeRequest, requestId: string): ReadyContent | undefined;
};

/** Makes the door. */
export function createGraphqlDoor(options: GraphqlOptions): GraphqlDoor {
  const yoga = createYoga<OperationContext>({
    schema: currentSchema(options.endpoints),
    graphqlEndpoint: '/graphql',
    graphiql: options.graphiql && graphiqlPage,
    // Bundled, so that it works offline; loaded for the first browser that asks, for it is large.
    renderGraphiQL: async page => (await import('@graphql-yoga/render-graphiql')).renderGraphiQL(page),
    landingPage: false,
    cors: false,
    logging: false,
    maskedErrors: { maskError },
    parserAndValidationCache: {
      documentCache: documentCache<DocumentNode>(),
      errorCache: documentCache<Error>(),
    },
    plugins: [limits, sameErrorCodes, cacheExtensions, reportFaults(options.onFault), keepResult],
  });

  const largeOperations = createLargeOperations(maxLarge, maxLargeWaiting);
  const memo = createResponseMemo(options.pipeline);

  /** @param signal aborts when the caller leaves, or its time is over: then what has an answer is answered */
  async function execute(exchange: Exchange, signal: AbortSignal): Promise<Reply> {
    const { request, queryText } = exchange;
    const wantsPage = options.graphiql && request.method === 'GET' && queryText === '';
    if (!wantsPage || !request.headers.accept?.includes('text/html')) {
      options.pipeline.tokens.authenticate(readCredentials(request.headers));
      // Yoga would answer who asks for a stream with one.
      if (!/json|\*\/\*|application\/\*/i.test(request.headers.accept || '*/*')) throw notAcceptable();
    }
    const body = request.method === 'POST' ? await exchange.readBody(maxBodyBytes) : undefined;
    const budget = openBudget(largeOperations);
    try {
      const context = openContext(options.pipeline, { ...exchange, signal }, budget);
      const response = await yoga.fetch(
        `http://gateway/graphql?${queryText}`,
        { method: request.method, headers: fetchHeaders(exchange), body, signal: exchange.signal },
        context,
      );
      const reply = await toReply(response, context);
      memo.set(
        { method: request.method, headers: request.headers, queryText, body: latin1(body) },
        reply,
        context,
      );
      return await coded(exchange, reply);
    } finally {
      budget.close();
    }
  }

  return {
    async answer(exchange) {
      try {
        const { queryTimeoutMs } = options.pipeline;
        return await withinDeadline(exchange.signal, queryTimeoutMs, signal => execute(exchange, signal));
      } catch (thrown) {
        const error = toGatewayError(thrown);
        if (error.code === 'internal') options.onFault(exchange.requestId, error.cause);
        return failedReply(error, exchange.requestId);
      }
    },
    answerAtOnce(request, requestId) {
      const found = memo.get(request, requestId);
      // What is to be compressed takes the longer way.
      return found && !chooseCoding(request.headers['accept-encoding'], found.text.length)
        ? found
        : undefined;
    },
  };
}

/** A text's UTF-8 bytes as a string of their codes. */
function latin1(text: string | undefined): string {
  return Buffer.from(text ?? '').toString('latin1');
}

/** What a newcomer finds in GraphiQL: a question, and where the token goes. The page is public, so it holds none. */
const graphiqlPage = {
  title: 'Saved queries',
  defaultQuery: `# The saved queries that are served:
{
  __type(name: "Query") {
    fields {
      name
      description
    }
  }
}
`,
  headers: '{ "X-API-KEY": "paste the token here" }',
};

/** The schema of what is served now; built anew when a saved query changes. */
function currentSchema(endpoints: EndpointRegistry): () => GraphQLSchema {
  let built: { version: number; schema: GraphQLSchema } | undefined;
  return () => {
    if (built?.version !== endpoints.version) {
      built = { version: endpoints.version, schema: buildSchema(endpoints.all()) };
    }
    return built.schema;
  };
}

/** What was made of documents that came before, by their text. */
function documentCache<Value extends object>() {
  return new LRUCache<string, Value>({
    maxSize: maxDocumentLength,
    sizeCalculation: (_value, text) => text.length + 1,
  });
}

const limitingRules = [
  limitRootFields(maxRootFields),
  limitComparisons(maxFragments, maxRepeats),
  limitIntrospection(maxIntrospectionFields),
];

const limits: Plugin<OperationContext> = {
  onRequestParse({ requestParser, setRequestParser }) {
    if (!requestParser) return;
    setRequestParser(async request => {
      try {
        return await requestParser(request);
      } catch (thrown) {
        if (thrown instanceof GraphQLError || !(thrown instanceof SyntaxError)) throw thrown;
        throw malformed(
          `The variables or extensions of the request are not JSON: ${thrown.message.slice(0, 120)}`,
        );
      }
    });
  },
  onParse: ({ setParseFn }) =>
    setParseFn((source, parseOptions) => {
      limitNesting(String(source), maxNesting, maxTokens);
      return parse(source, { ...parseOptions, maxTokens });
    }),
  onValidate: ({ setValidationFn }) =>
    setValidationFn((schema, document, rules) => {
      // First, for they are cheap: GraphQL's own rules take up to a second for a document that these refuse.
      const refusals = validate(schema, document, limitingRules);
      return refusals.length > 0 ? refusals : validate(schema, document, rules);
    }),
};

function reportFaults(onFault: GraphqlOptions['onFault']): Plugin<OperationContext, OperationContext> {
  return {
    onResultProcess({ result, serverContext }) {
      if (Array.isArray(result) || !('errors' in result)) return;
      for (const error of result.errors ?? []) {
        const fault = faultOf(error);
        if (fault) onFault(serverContext.requestId, fault.cause);
      }
    },
  };
}

/** Has Yoga settle status and headers alone: the result is written by `renderResult`, within the operation's budget. */
const keepResult: Plugin<OperationContext, OperationContext> = {
  onResultProcess({ result, setResult, serverContext }) {
    const stringify = (sanitized: object) => {
      serverContext.output.result = sanitized;
      return '';
    };
    setResult({ ...result, stringify });
  },
};

const cacheExtensions: Plugin<OperationContext> = {
  onExecute: ({ args }) => ({
    onExecuteDone: ({ result, setResult }) => {
      if (Symbol.asyncIterator in result) return;
      // Yoga's argument type leaves the context open; it is the one of openContext.
      const context = args.contextValue as OperationContext;
      setResult({ ...result, extensions: { ...result.extensions, ...extensionsOf(context) } });
    },
  }),
};

/**
 * Yoga answers 406 and 415 without a body; ours have one.
 * @throws GatewayError also for an operation that is over its budget
 */
async function toReply(response: Response, { budget, output: { result } }: OperationContext): Promise<Reply> {
  budget.signal.throwIfAborted();
  const body = result ? await renderResult(result, budget) : Buffer.from(await response.arrayBuffer());
  if (body.length === 0 && response.status === 406) throw notAcceptable();
  if (body.length === 0 && response.status === 415) {
    throw new GatewayError('unsupported_media_type', 'Content-Type must be application/json');
  }
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

/** Compresses a reply for a client that takes it so. */
async function coded({ request }: Exchange, reply: Reply): Promise<Reply> {
  const coding = chooseCoding(request.headers['accept-encoding'], reply.body.length);
  if (!coding) return reply;
  return {
    ...reply,
    headers: { ...reply.headers, 'content-encoding': coding, vary: 'Accept-Encoding' },
    body: await codeBody(reply.body, coding),
  };
}

function fetchHeaders({ request }: Exchange): Headers {
  const { accept, 'content-type': contentType } = request.headers;
  return new Headers({
    ...(accept ? { accept } : {}),
    ...(contentType ? { 'content-type': contentType } : {}),
  });
}
