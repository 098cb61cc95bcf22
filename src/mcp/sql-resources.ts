import type { Resource } from '@modelcontextprotocol/sdk/types.js';
import type { Column } from '../base/rows.ts';
import type { ListedEndpoint } from '../pipeline/list-endpoints.ts';

/** A resource, and its text. */
export type TextResource = { readonly resource: Resource; readonly text: string };

/** The tool that describes what SQL can read: many agents call tools but read no resources. */
export const describeToolName = 'describe_subsets';

/** The URI of the description of a saved query's subsets. */
export const subsetsUri = (endpoint: string) => `saved-query://${endpoint}/subsets`;

/** The resources for writing SQL: the rules, and for each saved query the columns of its subsets. */
export function sqlResources(all: readonly ListedEndpoint[]): TextResource[] {
  const sandboxed = all.filter(({ subsets }) => subsets !== undefined);
  if (sandboxed.length === 0) return [];
  return [resource('saved-query://dialect', 'SQL dialect', 'What SQL of your own may use.', dialect)].concat(
    sandboxed.map(({ definition: { name }, subsets = [] }) =>
      resource(
        subsetsUri(name),
        `Subsets of ${name}`,
        `Tables that SQL over ${name} can read, with their columns.`,
        subsetsText(subsets),
      ),
    ),
  );
}

/** Each subset with its columns and the fields of records. */
export function subsetsText(subsets: NonNullable<ListedEndpoint['subsets']>): string {
  return subsets.map(subset => subsetText(subset.name, subset.columns)).join('\n');
}

function resource(uri: string, name: string, description: string, text: string): TextResource {
  return { resource: { uri, name, description, mimeType: 'text/markdown' }, text };
}

function subsetText(name: string, columns: readonly Column[]): string {
  const lines = columns.map(column => `- \`${column.name}\` ${typeText(column)}`);
  return [`## ${name}`, '', ...lines, ''].join('\n');
}

/** A column's type in BigQuery's notation. */
function typeText({ type, mode, fields = [] }: Column): string {
  const inner = fields.map(field => `${field.name} ${typeText(field)}`).join(', ');
  const element = type === 'STRUCT' ? `STRUCT<${inner}>` : type;
  return mode === 'REPEATED' ? `ARRAY<${element}>` : element;
}

/** What a caller's own SQL may use. */
export const dialect = `# SQL

BigQuery SQL (GoogleSQL): one SELECT statement, which may begin with WITH. No trailing semicolon is needed, no DML, no scripting.

- Tables are the subsets alone, by their names; no dataset, no INFORMATION_SCHEMA, no wildcard.
- The parameters of the tool decide which rows the subsets hold. Compare \`timestamp\` to narrow them further.
- Records are arrays: \`cross join unnest(t.metadata) as m cross join unnest(m.request) as r\`, then \`r.path\`. A row whose array is empty
  drops out of that: \`left join unnest(r.cf) as cf\` keeps it, with NULL.
- Times are TIMESTAMP in UTC: \`timestamp_trunc(timestamp, hour)\`, \`timestamp > timestamp_sub(current_timestamp(), interval 1 hour)\`,
  \`timestamp '2026-01-15 10:00:00+00'\`. In rows a TIMESTAMP is an integer, microseconds since 1970: \`timestamp_micros(…)\` reads one.
- Not as in Postgres: \`current_timestamp()\` for now(), \`interval 1 hour\` without quotes, \`timestamp_trunc(x, hour)\` for date_trunc('hour', x),
  \`cast(x as int64)\` for x::int, \`countif(…)\` for count(*) filter (…), \`regexp_contains(x, r'…')\` for ~, \`lower(x) like …\` for ilike,
  backticks around names: "x" is a text.
- Bytes, decimals and dates are strings in rows; a JSON column is a string that holds JSON.
- Aggregate rather than list: \`select r.path, count(*) as n … group by 1 order by n desc limit 20\`.
- An error names line and column, and the name that was probably meant; correct the text and call again.
`;
