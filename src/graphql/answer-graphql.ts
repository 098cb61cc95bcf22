import { type GraphQLSchema, parse } from 'graphql';
import { createYoga, type Plugin } from 'graphql-yoga';
import { readCredentials } from '../auth/read-credentials.ts';
import { chooseCoding, codeBody } from '../content-coding.ts';
import type { EndpointRegistry } from '../endpoints/registry.ts';
import { GatewayError, toGatewayError } from '../errors.ts';
import type { Exchange, Reply } from '../exchange.ts';
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

/** Makes the GraphQL door (contract section 3): GraphQL over HTTP, with the tokens, errors and entries of REST. */
export function createGraphqlDoor(options: GraphqlOptions): (exchange: Exchange) => Promise<Reply> {
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

  return async exchange => {
    const { request } = exchange;
    try {
      const wantsPage = options.graphiql && request.method === 'GET' && exchange.queryText === '';
      if (!wantsPage || !request.headers.accept?.includes('text/html')) {
        options.pipeline.tokens.authenticate(readCredentials(request.headers));
      }
      const body = request.method === 'POST' ? await exchange.readBody(maxBodyBytes) : '';
      const again = memo.get(exchange, body);
      if (again) return await coded(exchange, again);
      const context = openContext(options.pipeline, exchange);
      const response = await yoga.fetch(
        `http://gateway/graphql?${exchange.queryText}`,
        {
          method: request.method,
          headers: fetchHeaders(exchange),
          body: request.method === 'POST' ? body : undefined,
          signal: exchange.signal,
        },
        context,
      );
      const reply = await toReply(response);
      memo.set(exchange, body, reply, context);
      return await coded(exchange, reply);
    } catch (thrown) {
      return failedReply(toGatewayError(thrown), exchange.requestId);
    }
  };
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
    headers: { 'cache-control': 'no-store', ...Object.fromEntries(response.headers) },
    body,
  };
}

/** Compresses a reply for a client that takes it so. */
async function coded({ request }: Exchange, reply: Reply): Promise<Reply> {
  const coding = chooseCoding(request.headers['accept-encoding'], reply.body);
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
