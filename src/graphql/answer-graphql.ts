import DataLoader from 'dataloader';
import { GraphQLError, type GraphQLSchema, parse } from 'graphql';
import { createYoga, type Plugin } from 'graphql-yoga';
import { readCredentials } from '../auth/read-credentials.ts';
import type { EndpointDefinition } from '../endpoints/definition.ts';
import type { EndpointRegistry } from '../endpoints/registry.ts';
import { type ErrorCode, errorCodes, GatewayError, toGatewayError } from '../errors.ts';
import type { Exchange, Reply } from '../exchange.ts';
import type { RawParameters } from '../pipeline/bind-parameters.ts';
import { readRedactHeader } from '../pipeline/read-redact-header.ts';
import { type PipelineDeps, runEndpoint } from '../pipeline/run-endpoint.ts';
import { buildSchema, type FieldContext } from './build-schema.ts';
import { limitRootFields } from './limit-root-fields.ts';
import { type Row, readRows } from './read-rows.ts';

type GraphqlOptions = {
  readonly pipeline: PipelineDeps;
  readonly endpoints: EndpointRegistry;
  /** Serve the GraphiQL page to browsers. */
  readonly graphiql: boolean;
};

type OperationContext = FieldContext & { readonly requestId: string; readonly cacheFacts: CacheFact[] };

/** Where a field's rows came from; `extensions.cache` lists one for each field. */
type CacheFact = { readonly path: string; readonly state: string; readonly ageSeconds: number };

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

  return async exchange => {
    const { request } = exchange;
    try {
      const wantsPage = options.graphiql && request.method === 'GET' && exchange.queryText === '';
      if (!wantsPage || !request.headers.accept?.includes('text/html')) {
        options.pipeline.tokens.authenticate(readCredentials(request.headers));
      }
      const response = await yoga.fetch(
        `http://gateway/graphql?${exchange.queryText}`,
        {
          method: request.method,
          headers: fetchHeaders(exchange),
          body: request.method === 'POST' ? await exchange.readBody(maxBodyBytes) : undefined,
          signal: exchange.signal,
        },
        openContext(options.pipeline, exchange),
      );
      return await toReply(response);
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

/** One operation's context: its fields share one DataLoader, so equal fields are one request to the pipeline. */
function openContext(pipeline: PipelineDeps, { requestId, request, signal }: Exchange): OperationContext {
  type Key = { readonly endpoint: EndpointDefinition; readonly parameters: RawParameters };
  const load = async ({ endpoint, parameters }: Key) => {
    const answer = await runEndpoint(pipeline, {
      requestId,
      credentials: readCredentials(request.headers),
      endpoint: endpoint.name,
      readInput: () => ({ parameters, redactPii: readRedactHeader(request.headers) }),
      signal,
    });
    return { rows: readRows(answer.body), cache: answer.cache };
  };
  type Loaded = Awaited<ReturnType<typeof load>>;
  const loader = new DataLoader<Key, Loaded, string>(
    keys => Promise.all(keys.map(key => load(key).catch(toGatewayError))),
    { cacheKeyFn: ({ endpoint, parameters }) => JSON.stringify([endpoint.name, parameters]) },
  );
  const cacheFacts: CacheFact[] = [];
  const loadRows = async (
    endpoint: EndpointDefinition,
    parameters: RawParameters,
    path: string,
  ): Promise<readonly Row[]> => {
    const { rows, cache } = await loader.load({ endpoint, parameters });
    cacheFacts.push({ path, ...cache });
    return rows;
  };
  return { requestId, cacheFacts, loadRows };
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
      const { requestId, cacheFacts } = args.contextValue as OperationContext;
      setResult({
        ...result,
        extensions: { ...result.extensions, request_id: requestId, cache: cacheFacts },
      });
    },
  }),
};

/** Gives every error of Yoga's own a code of our table. */
const sameErrorCodes: Plugin<OperationContext> = {
  onResultProcess: ({ result, setResult }) => {
    if (Array.isArray(result) || !('errors' in result) || !result.errors) return;
    setResult({ ...result, errors: result.errors.map(withOurCode) });
  },
};

function withOurCode(error: GraphQLError): GraphQLError {
  const { code, http } = error.extensions;
  if (typeof code === 'string' && Object.hasOwn(errorCodes, code)) return error;
  const status = (http as { status?: number } | undefined)?.status;
  const ours: ErrorCode = status === 405 ? 'method_not_allowed' : 'invalid_graphql';
  const { nodes, source, positions, path } = error;
  // Without a document to answer there is no GraphQL result either, whatever media type was asked for.
  const isNoDocument = code === 'BAD_REQUEST' && status !== 405;
  return new GraphQLError(error.message, {
    nodes,
    source,
    positions,
    path,
    extensions: { code: ours, status: errorCodes[ours].status, http: isNoDocument ? { status: 400 } : http },
  });
}

/** A failure of ours keeps its message and gets its code; anything else is a bug and says nothing. */
function maskError(thrown: unknown): Error {
  if (!(thrown instanceof GraphQLError)) return toGraphqlError(toGatewayError(thrown));
  const { originalError: original } = thrown;
  if (original === undefined || original instanceof GraphQLError || isCoercion(thrown)) return thrown;
  return toGraphqlError(toGatewayError(original), thrown);
}

/** A variable or argument of the wrong type is the caller's fault: graphql-js gives it no path in the result. */
function isCoercion(error: GraphQLError): boolean {
  return error.path === undefined;
}

function toGraphqlError(error: GatewayError, at?: GraphQLError): GraphQLError {
  const { code, status, position, retryAfterSeconds } = error;
  return new GraphQLError(error.message, {
    nodes: at?.nodes,
    path: at?.path,
    extensions: { code, status, ...position, retryAfterSeconds },
  });
}

/** Whatever fails before there is an operation: same form, the error's own status. */
function failedReply(error: GatewayError, requestId: string): Reply {
  const { retryAfterSeconds } = error;
  return {
    status: error.status,
    headers: {
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-store',
      ...(retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }),
      ...(error.status === 401 ? { 'www-authenticate': 'Bearer' } : {}),
    },
    body: Buffer.from(
      JSON.stringify({ errors: [toGraphqlError(error).toJSON()], extensions: { request_id: requestId } }),
    ),
  };
}

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

function fetchHeaders({ request }: Exchange): Headers {
  const { accept, 'content-type': contentType } = request.headers;
  return new Headers({
    ...(accept ? { accept } : {}),
    ...(contentType ? { 'content-type': contentType } : {}),
  });
}
