import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import {
  CallToolRequestSchema,
  type CallToolResult,
  ErrorCode,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema,
  ReadResourceRequestSchema,
  type Tool,
} from '@modelcontextprotocol/sdk/types.js';
import type { Caller } from '../auth/caller.ts';
import { quoted, toGatewayError } from '../base/errors.ts';
import { didYouMean } from '../base/nearest-name.ts';
import type { CallerHeaders } from '../http-messages/caller-headers.ts';
import type { RequestFacts } from '../http-messages/request-context.ts';
import { coveredEndpoints, type ListedEndpoint, listEndpoints } from '../pipeline/list-endpoints.ts';
import { redactionOfMessages, redactMessage } from '../pipeline/representation.ts';
import { type Answer, type PipelineDeps, runEndpoint } from '../pipeline/run-endpoint.ts';
import { boundRows } from './bounded-rows.ts';
import { describeSubsets, describeTool, sqlHint } from './describe-subsets.ts';
import { type EndpointTool, mayHaveTool, toolsOf, unknownArgument } from './endpoint-tools.ts';
import { describeToolName, sqlResources } from './sql-resources.ts';

/** One message of an agent, and its sender. */
export type McpRequest = {
  readonly requestId: string;
  readonly caller: Caller;
  readonly headers: CallerHeaders;
  readonly facts: RequestFacts;
  readonly signal: AbortSignal;
};

/** Maximum bytes of rows in one result: some ten thousand tokens. Agents do better asking for less, or for the rest, than reading more at once. */
const maxResultBytes = 32 * 1024;

const instructions =
  'Each saved query is a tool. A tool whose name ends with _sql takes BigQuery SQL of your own over the subsets of a saved query: ' +
  `call ${describeToolName} for their columns first, and aggregate there rather than read many rows. ` +
  'A TIMESTAMP in rows is an integer, microseconds since 1970 in UTC; format_timestamp in SQL makes text of it.';

/** Makes the server that answers one message: there is no state between messages. */
export function createMcpServer(deps: PipelineDeps, request: McpRequest): Server {
  const { caller, headers } = request;
  const redaction = redactionOfMessages(deps.redactKinds, headers, caller);
  /** Redacts a message of the server's own, which may repeat what the agent has sent (contract 9.6). */
  const shown: ShowMessage = message => redactMessage(message, redaction);
  const server = new Server(
    { name: 'saved-query-gateway', version: '1' },
    { capabilities: { tools: {}, resources: {} }, instructions, jsonSchemaValidator: noValidator },
  );
  const listed = () => listEndpoints(deps, caller, coveredEndpoints(deps, caller));
  const resources = async () => sqlResources(await listed());
  server.setRequestHandler(ListToolsRequestSchema, async () => ({ tools: toolsFor(await listed()) }));
  server.setRequestHandler(ListResourcesRequestSchema, async () => ({
    resources: (await resources()).map(({ resource }) => resource),
  }));
  // Programs ask for it wherever there are resources.
  server.setRequestHandler(ListResourceTemplatesRequestSchema, () => ({ resourceTemplates: [] }));
  server.setRequestHandler(ReadResourceRequestSchema, async ({ params: { uri } }) => {
    const found = (await resources()).find(({ resource }) => resource.uri === uri);
    if (!found) throw rpcError(resourceNotFound, shown(`No resource has the URI ${quoted(uri)}`));
    return { contents: [{ uri, mimeType: 'text/markdown', text: found.text }] };
  });
  server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
    const near = coveredEndpoints(deps, caller).filter(each => mayHaveTool(each, params.name));
    const tools = (await listEndpoints(deps, caller, near)).flatMap(toolsOf);
    const found = tools.find(({ tool }) => tool.name === params.name);
    if (found) return callTool(deps, request, found, params.arguments ?? {}, shown);
    const all = await listed();
    const names = toolsFor(all).map(({ name }) => name);
    if (params.name === describeToolName && names.includes(describeToolName)) {
      return describeSubsets(all, params.arguments ?? {}, shown);
    }
    const allowed = names.length <= maxNamed ? `; allowed: ${names.join(', ')}` : '';
    throw rpcError(
      ErrorCode.InvalidParams,
      shown(`No tool has the name ${quoted(params.name)}${didYouMean(params.name, names)}${allowed}`),
    );
  });
  return server;
}

/** The tools of a token. A saved query with the name of our own tool hides it. */
function toolsFor(all: readonly ListedEndpoint[]): Tool[] {
  const tools = all.flatMap(toolsOf).map(({ tool }) => tool);
  const describing = describeTool(all);
  return describing && !tools.some(({ name }) => name === describing.name) ? [...tools, describing] : tools;
}

/** Maximum names that an error lists. */
const maxNamed = 20;

/** Makes an error of the protocol. The library's own McpError would repeat the code in its message. */
const rpcError = (code: number, message: string) => Object.assign(new Error(message), { code });

/** Source: MCP, "Resources", error handling. */
const resourceNotFound = -32002;

/** The library validates only answers to elicitation, which this server never requests; its default makes a validator for each server. */
const noValidator = {
  getValidator(): never {
    throw new Error('Nothing is elicited');
  },
};

type Arguments = Readonly<Record<string, unknown>>;

/** Redacts a message unless the agent has asked for plain rows. */
type ShowMessage = (message: string) => string;

/** Calls a tool. A failure that the agent can correct or report is a result, not an error of the protocol. */
async function callTool(
  deps: PipelineDeps,
  request: McpRequest,
  called: EndpointTool,
  given: Arguments,
  shown: ShowMessage,
): Promise<CallToolResult> {
  const { tool, listed, takesSql } = called;
  const unknown = unknownArgument(tool, given, listed.fixed);
  if (unknown !== undefined) return failure({ code: 'invalid_parameter', message: shown(unknown) });
  if (takesSql && (typeof given.sql !== 'string' || given.sql.trim() === '')) {
    const is = given.sql === undefined ? 'missing' : 'no text';
    return failure({
      code: 'invalid_parameter',
      message: `The argument "sql" is ${is}; allowed: one SELECT statement`,
    });
  }
  try {
    const answer = await runEndpoint(deps, {
      ...request,
      isCounted: true,
      endpoint: listed.definition.name,
      readParameters: () => given,
    });
    return success(answer, tool.name, called);
  } catch (thrown) {
    const { code, message, position } = toGatewayError(thrown);
    const isSqlFault = takesSql && (code === 'invalid_query' || code === 'sandbox_refused');
    return failure({ code, message, ...position, ...(isSqlFault && { hint: sqlHint(listed) }) });
  }
}

function success(answer: Answer, name: string, { takesSql, listed }: EndpointTool): CallToolResult {
  const { rows, isCut } = boundRows(answer.body, maxResultBytes);
  const notes = [
    ...(isCut ? [cutNote(answer, rows.length, name, takesSql || listed.subsets !== undefined)] : []),
    ...(answer.rowCount === 0 ? ['No rows: values of parameters that match nothing are no error.'] : []),
    ...(answer.isTruncated
      ? [`The query had more rows; an answer has at most ${answer.endpoint.maxRows}.`]
      : []),
  ];
  const structuredContent = {
    rows,
    row_count: answer.rowCount,
    age_seconds: answer.cache.ageSeconds,
    ...(takesSql
      ? { columns: answer.columns.map(({ name: column, type, mode }) => ({ name: column, type, mode })) }
      : {}),
    ...(notes.length > 0 ? { note: notes.join(' ') } : {}),
  };
  return { content: [{ type: 'text', text: JSON.stringify(structuredContent) }], structuredContent };
}

function cutNote({ endpoint, rowCount }: Answer, shown: number, tool: string, maySendSql: boolean): string {
  const sqlTool = tool.endsWith('_sql') ? tool : `${tool}_sql`;
  const bySql = maySendSql
    ? `, select fewer columns, aggregate or page with ORDER BY, LIMIT and OFFSET by ${sqlTool}`
    : '';
  return (
    `${shown} of ${rowCount} rows are shown: a result has at most ${maxResultBytes} bytes. ` +
    `For the rest narrow the parameters${bySql}, or GET /api/endpoints/query/${endpoint.name} with the same arguments, sql too (and format=csv).`
  );
}

function failure(error: object): CallToolResult {
  return { content: [{ type: 'text', text: JSON.stringify({ error }) }], isError: true };
}
