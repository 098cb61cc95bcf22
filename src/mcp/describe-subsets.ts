import type { CallToolResult, Tool } from '@modelcontextprotocol/sdk/types.js';
import { quoted } from '../base/errors.ts';
import { didYouMean } from '../base/nearest-name.ts';
import type { ListedEndpoint } from '../pipeline/list-endpoints.ts';
import { annotations, unknownArgument } from './endpoint-tools.ts';
import { describeToolName, dialect, subsetsText } from './sql-resources.ts';

/** Saved queries whose subsets the token may read. */
type Sandboxed = ListedEndpoint & { readonly subsets: NonNullable<ListedEndpoint['subsets']> };

const sandboxedOf = (all: readonly ListedEndpoint[]) =>
  all.filter((listed): listed is Sandboxed => listed.subsets !== undefined);

/** The tool itself; undefined if the token may send no SQL. */
export function describeTool(all: readonly ListedEndpoint[]): Tool | undefined {
  const names = sandboxedOf(all).map(({ definition }) => definition.name);
  if (names.length === 0) return undefined;
  const title = 'Subsets and their columns';
  return {
    name: describeToolName,
    title,
    description:
      'Lists the subsets that SQL over a saved query can read, with the columns, the fields of records, and the rules of the dialect. ' +
      'Call it once before you write SQL.',
    inputSchema: {
      type: 'object',
      properties: {
        saved_query: { type: 'string', enum: names, description: 'The saved query that the SQL goes to.' },
        subset: { type: 'string', description: 'One subset; without it all of them.' },
      },
      required: ['saved_query'],
      additionalProperties: false,
    },
    annotations: { title, ...annotations },
  };
}

/**
 * Answers a call of the tool.
 * @param shown redacts a message that repeats an argument
 */
export function describeSubsets(
  all: readonly ListedEndpoint[],
  given: Readonly<Record<string, unknown>>,
  shown: (message: string) => string,
): CallToolResult {
  const tool = describeTool(all);
  const unknown = tool && unknownArgument(tool, given);
  if (unknown !== undefined) return refused(shown(unknown));
  const { saved_query: query, subset } = given;
  const sandboxed = sandboxedOf(all);
  const found = sandboxed.find(({ definition }) => definition.name === query);
  if (!found) {
    const names = sandboxed.map(({ definition }) => definition.name);
    return refused(shown(wrongArgument('saved_query', query, names)));
  }
  const subsets = subset === undefined ? found.subsets : found.subsets.filter(({ name }) => name === subset);
  if (subsets.length === 0) {
    const names = found.subsets.map(({ name }) => name);
    return refused(shown(wrongArgument('subset', subset, names)));
  }
  // An agent that asks for one subset has seen the rules with the list of subsets, or has them as a resource.
  const rules = subset === undefined ? `${dialect}\n` : '';
  return {
    content: [{ type: 'text', text: `${rules}# Subsets of ${query}\n\n${subsetsText(subsets)}` }],
  };
}

function wrongArgument(argument: string, given: unknown, allowed: readonly string[]): string {
  const is = given === undefined ? 'missing' : quoted(given);
  const meant = typeof given === 'string' ? didYouMean(given, allowed) : '';
  return `The argument "${argument}" is ${is}; allowed: ${allowed.join(', ')}${meant}`;
}

function refused(message: string): CallToolResult {
  const error = { code: 'invalid_parameter', message };
  return { content: [{ type: 'text', text: JSON.stringify({ error }) }], isError: true };
}

/** The facts that an agent whose SQL was refused needs to correct it, in one line; subsets with the same columns are grouped. */
export function sqlHint({ subsets = [] }: ListedEndpoint): string {
  const alike = Map.groupBy(subsets, ({ columns }) =>
    columns.map(({ name, mode }) => (mode === 'REPEATED' ? `${name}[]` : name)).join(', '),
  );
  const all = [...alike].map(
    ([columns, found]) => `${found.map(({ name }) => name).join(', ')} (${columns})`,
  );
  return (
    `SQL reads these subsets alone: ${all.join('; ')}. ` +
    `[] is an array: cross join unnest(t.<column>) as m, then m.<field>, a join for each level. ${describeToolName} lists the fields.`
  );
}
