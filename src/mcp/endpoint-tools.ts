import { createHash } from 'node:crypto';
import type { Tool } from '@modelcontextprotocol/sdk/types.js';
import { quoted } from '../base/errors.ts';
import { parseExactJson } from '../base/json.ts';
import { didYouMean } from '../base/nearest-name.ts';
import type { EndpointDefinition } from '../endpoints/definition.ts';
import { parameterSchema, rowSchema } from '../endpoints/json-schemas.ts';
import { describeParameter } from '../endpoints/parameters/describe-parameter.ts';
import type { ListedEndpoint } from '../pipeline/list-endpoints.ts';
import { describeToolName, subsetsUri } from './sql-resources.ts';

/** A tool, and the saved query that it runs. */
export type EndpointTool = {
  readonly tool: Tool;
  readonly listed: ListedEndpoint;
  /** Whether it takes the caller's own SQL. */
  readonly takesSql: boolean;
};

/** The tools of one saved query: the query itself, and the caller's own SQL over its subsets if the token may send it. */
export function toolsOf(listed: ListedEndpoint): EndpointTool[] {
  const saved = { tool: savedTool(listed), listed, takesSql: false };
  return listed.subsets ? [saved, { tool: sqlTool(listed), listed, takesSql: true }] : [saved];
}

/** Maximum characters of a tool's name without `_sql`: models' programming interfaces take 64. */
const maxToolName = 60;

/**
 * Names of tools consist of letters, digits, `_` and `-`. They are unique because two saved queries with one GraphQL name are refused; a
 * long one is cut, and ends with a hash of the whole.
 */
function toolName(name: string): string {
  const tool = name.replaceAll('.', '_');
  if (tool.length <= maxToolName) return tool;
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 8);
  return `${tool.slice(0, maxToolName - 9)}_${hash}`;
}

const sqlToolName = (name: string) => `${toolName(name)}_sql`;

/** Whether a tool of this name may belong to the saved query. */
export function mayHaveTool({ name }: EndpointDefinition, tool: string): boolean {
  return tool === toolName(name) || tool === sqlToolName(name);
}

/**
 * The message about an unknown argument: ignoring a misspelt one would give other rows than the agent expects.
 * @param fixed names of parameters that the token fixes: they are not offered as arguments, and sending one does no harm
 */
export function unknownArgument(
  { inputSchema }: Tool,
  given: Readonly<Record<string, unknown>>,
  fixed: readonly string[] = [],
): string | undefined {
  const allowed = Object.keys(inputSchema.properties ?? {});
  const unknown = Object.keys(given).find(name => !allowed.includes(name) && !fixed.includes(name));
  if (unknown === undefined) return undefined;
  return `No argument is named ${quoted(unknown)}${didYouMean(unknown, allowed)}; allowed: ${allowed.join(', ')}`;
}

/** The hints about each tool for an agent's program: it only reads, and only from this service. */
export const annotations = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
};

function savedTool(listed: ListedEndpoint): Tool {
  const { definition } = listed;
  const { name, description, maxRows, cacheSeconds } = definition;
  const age = cacheSeconds > 0 ? ` Answers may be ${cacheSeconds} seconds old.` : '';
  return {
    name: toolName(name),
    title: name,
    description: `${description} At most ${maxRows} rows.${age}`,
    inputSchema: inputSchema(listed, {}),
    outputSchema: outputSchema(rowSchema(definition)),
    annotations: { title: name, ...annotations },
  };
}

function sqlTool(listed: ListedEndpoint): Tool {
  const { name, maxRows } = listed.definition;
  const subsets = listed.subsets?.map(subset => subset.name).join(', ');
  const description =
    `Runs one SELECT in BigQuery SQL over the subsets of ${name}: ${subsets}. The parameters select which rows the subsets hold. ` +
    `Call ${describeToolName} or read the resource ${subsetsUri(name)} for their columns first. At most ${maxRows} rows: aggregate, and use LIMIT.`;
  const sql = { type: 'string', description: 'One SELECT statement; it reads nothing but the subsets.' };
  const title = `SQL over ${name}`;
  return {
    name: sqlToolName(name),
    title,
    description,
    inputSchema: inputSchema(listed, { sql }),
    outputSchema: outputSchema({ type: 'object' }),
    annotations: { title, ...annotations },
  };
}

/** The arguments of a tool, without the parameters that the token fixes. */
function inputSchema(
  { definition, fixed }: ListedEndpoint,
  own: Record<string, object>,
): Tool['inputSchema'] {
  const parameters = definition.parameters.filter(({ name }) => !fixed.includes(name));
  const schemas = parameters.map(parameter => [
    parameter.name,
    { ...parameterSchema(parameter), description: describeParameter(definition, parameter) },
  ]);
  return plain({
    type: 'object',
    properties: { ...own, ...Object.fromEntries(schemas) },
    required: [...Object.keys(own), ...parameters.filter(({ required }) => required).map(({ name }) => name)],
    additionalProperties: false,
  });
}

function outputSchema(row: object): Tool['outputSchema'] {
  return plain({
    type: 'object',
    properties: {
      rows: { type: 'array', items: row },
      row_count: { type: 'integer', description: 'Rows of the whole answer.' },
      age_seconds: { type: 'integer', description: 'Seconds since the query ran.' },
      columns: {
        type: 'array',
        items: { type: 'object' },
        description: 'Name and BigQuery type of each column, for SQL of your own.',
      },
      note: { type: 'string', description: 'What is missing, and how to get it; absent if nothing is.' },
    },
    required: ['rows', 'row_count', 'age_seconds'],
  });
}

/** Removes members that are undefined. */
const plain = (schema: object) => parseExactJson(JSON.stringify(schema)) as Tool['inputSchema']; // an object schema, as both callers write it
