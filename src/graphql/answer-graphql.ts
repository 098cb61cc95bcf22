import { type GraphQLSchema, parse } from 'graphql';
import { createYoga, type Plugin } from 'graphql-yoga';
import { readCredentials } from '../auth/read-credentials.ts';
import { chooseCoding, codeBody } from '../content-coding.ts';
import type { EndpointRegistry } from '../endpoints/registry.ts';
import { GatewayError, toGatewayError } from '../errors.ts';
import type { Exchange, ReadyContent, Reply, WholeRequest } from '../exchange.ts';
import type { PipelineDeps } from '../pipeline/run-endpoint.ts';
import { buildSchema } from './build-schema.ts';
import { failedReply, maskError, sameErrorCodes } from './graphql-errors.ts';
import { limitRootFields } from './limit-root-fields.ts';
import { extensionsOf, type OperationContext, openContext } from './operation-context.ts';
import { createResponseMemo } from './response-memo.ts';

type GraphqlOptions = {
  readonly pipeline: PipelineDeps;
  readonly endpoints: EndpointRegistry;
  /** Serve the GraphiQL page to browsers. */
  readonly graphiql: boolean;
};

/** Saved queries one document may ask for, bytes of its request, tokens of its text. */
const maxRootFields = 100;
const maxBodyBytes = 1024 * 1024;
const maxTokens = 10_000;

/** The GraphQL door (contract section 3): GraphQL over HTTP, with the tokens, errors and entries of REST. */
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
    plugins: [limits, sameErrorCodes, cacheExtensions],
  });

  const memo = createResponseMemo(options.pipeline);

  async function execute(exchange: Exchange): Promise<Reply> {
    const { request, queryText } = exchange;
    const wantsPage = options.graphiql && request.method === 'GET' && queryText === '';
    if (!wantsPage || !request.headers.accept?.includes('text/html')) {
      options.pipeline.tokens.authenticate(readCredentials(request.headers));
    }
    const body = request.method === 'POST' ? await exchange.readBody(maxBodyBytes) : undefined;
    const context = openContext(options.pipeline, exchange);
    const response = await yoga.fetch(
      `http://gateway/graphql?${queryText}`,
      { method: request.method, headers: fetchHeaders(exchange), body, signal: exchange.signal },
      context,
    );
    const reply = await toReply(response);
    memo.set(
      { method: request.method, headers: request.headers, queryText, body: latin1(body) },
      reply,
      context,
    );
    return coded(exchange, reply);
  }

  return {
    async answer(exchange) {
      try {
        return await execute(exchange);
      } catch (thrown) {
        return failedReply(toGatewayError(thrown), exchange.requestId);
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

const limits: Plugin<OperationContext> = {
  onParse: ({ setParseFn }) =>
    setParseFn((source, parseOptions) => parse(source, { ...parseOptions, maxTokens })),
  onValidate: ({ addValidationRule }) => addValidationRule(limitRootFields(maxRootFields)),
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

/** Yoga answers 406 and 415 without a body; ours have one. */
async function toReply(response: Response): Promise<Reply> {
  const body = Buffer.from(await response.arrayBuffer());
  if (body.length === 0 && response.status === 406) {
    throw new GatewayError(
      'not_acceptable',
      'Accept excludes application/json and application/graphql-response+json',
    );
  }
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
