import type { EndpointDefinition } from '../endpoints/definition.ts';
import { describeParameter } from '../endpoints/parameters/describe-parameter.ts';

/**
 * Builds the page that tells a language model which saved queries there are, and how to request them.
 * Source of the form: llmstxt.org.
 */
export function buildLlmsText(endpoints: readonly EndpointDefinition[]): string {
  return `# Saved queries

> Saved, parameterised BigQuery queries by REST, GraphQL and MCP. Every request needs an access token: \`Authorization: Bearer <token>\`.

A REST request is \`GET <path>?<parameter>=<value>\`; it answers \`{"result":[…]}\`, or \`format=ndjson\`, \`csv\`, \`parquet\` or \`arrow\`.
Where a saved query is sandboxed, \`sql=<one SELECT in BigQuery SQL>\` replaces its final statement and reads its subsets. An error is
\`{"error":{"code":…,"message":…}}\` and says what is allowed.

## How to ask

- [MCP](/mcp): each saved query as a tool, SQL over the subsets as another, the columns of the subsets as resources; streamable HTTP
- [OpenAPI](/openapi.json): parameters and typed rows of each saved query
- [Catalogue](/api/endpoints): what a token may ask, with limits, examples and the columns of the subsets; needs the token
- [GraphQL](/graphql): a typed field for each saved query

## Saved queries

${endpoints.map(entryOf).join('\n')}
`;
}

function entryOf(endpoint: EndpointDefinition): string {
  const { name, description, parameters, columns, sandbox } = endpoint;
  const lines = parameters.map(parameter => {
    const what = parameter.required ? 'required' : 'optional';
    return `  - \`${parameter.name}\` (${what}): ${describeParameter(endpoint, parameter)}`;
  });
  const names = columns.map(column => `\`${column.name}\``).join(', ');
  const own = sandbox ? '; takes `sql`' : '';
  return [`- [${name}](/api/endpoints/query/${name}): ${description} Columns: ${names}${own}`, ...lines].join(
    '\n',
  );
}
