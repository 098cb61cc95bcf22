import type { Config } from './config.ts';

type Started = {
  /** Where the gateway listens. */
  readonly origin: string;
  /** The plain token that it accepts, if there is one. */
  readonly token: string | undefined;
  /** A project that has rows. */
  readonly project: string;
  /** Names of the saved queries that are served. */
  readonly endpoints: readonly string[];
  /** Broken files of saved queries and sources, which are not served. */
  readonly brokenFiles: readonly string[];
};

/** The first commands to try, with the saved queries that come with the service. */
const tries = (project: string) => [
  { name: 'logs.all', query: `project=${project}` },
  { name: 'usage.api-counts', query: `interval=hourly&project=${project}` },
];

/** The text that a gateway prints when it has started: its address, its saved queries, how to call it. */
export function welcome(config: Config, { origin, token, project, endpoints, brokenFiles }: Started): string {
  const cache = config.REDIS_URL ? 'Redis' : 'in process (REDIS_URL is not set: one gateway only)';
  const route = `${origin}/api/endpoints/query`;
  const isShown = token !== undefined && config.NODE_ENV !== 'production';
  const shown = isShown ? token : '<ACCESS_TOKEN>';
  const head = `
Saved query gateway at ${origin}
  engine   ${config.ENGINE}, ${config.ENGINE === 'duckdb' ? `data in ${config.DATA_DIR}` : `project ${config.BIGQUERY_PROJECT}`}
  cache    ${cache}
${config.PAGES ? `  page     ${origin}/\n` : ''}  GraphQL  ${origin}/graphql
${config.PAGES ? `  API      ${origin}/docs\n` : ''}  token    ${isShown ? token : whereTokenIs(config, token)}
${brokenFiles.length > 0 ? `  WRONG    ${brokenFiles.length} left out: ${brokenFiles.join(', ')}; npm run endpoint -- lint says why\n` : ''}`;
  if (config.COMPAT === 'logflare') return head + replacedService(config, origin);
  const served = tries(project).filter(({ name }) => endpoints.includes(name));
  const paths =
    served.length > 0
      ? served.map(({ name, query }) => `${route}/${name}?${query}`)
      : [`${origin}/api/endpoints`, ...endpoints.slice(0, 1).map(name => `${route}/${name}`)];
  return `${head}
Try:
${paths.map(path => `  curl -H 'X-API-KEY: ${shown}' '${path}'\n`).join('')}
`;
}

/** What the gateway replaces (`COMPAT`), and which settings that still needs. */
function replacedService(
  { LOGFLARE_PUBLIC_ACCESS_TOKEN, LOGFLARE_PRIVATE_ACCESS_TOKEN, ENGINE }: Config,
  origin: string,
): string {
  const lacking = [
    ...(ENGINE === 'duckdb' ? [] : ['ENGINE=duckdb: without it, no events are accepted']),
    ...(LOGFLARE_PUBLIC_ACCESS_TOKEN
      ? []
      : ['LOGFLARE_PUBLIC_ACCESS_TOKEN: without it, events need another token']),
    ...(LOGFLARE_PRIVATE_ACCESS_TOKEN
      ? []
      : ['LOGFLARE_PRIVATE_ACCESS_TOKEN: without it, queries need another token']),
  ];
  return `
Stands in for the Logflare of a self-hosted Supabase, on port 4000 there (COMPAT=logflare)
  events   POST ${origin}/api/logs?source_name=<source>
  queries  GET ${origin}/api/endpoints/query/logs.all?project=default&sql=<SQL>
  health   GET ${origin}/health
${lacking.map(line => `  missing  ${line}\n`).join('')}
Try:
  curl -H 'X-API-KEY: <LOGFLARE_PUBLIC_ACCESS_TOKEN>' -d '{"event_message":"hello"}' '${origin}/api/logs?source_name=postgres.logs'
  curl -H 'X-API-KEY: <LOGFLARE_PRIVATE_ACCESS_TOKEN>' '${origin}/api/endpoints/query/logs.all?project=default'

`;
}

/** Where to find the token; in production it is not printed. */
function whereTokenIs(
  { ACCESS_TOKEN, LOGFLARE_PRIVATE_ACCESS_TOKEN, DATA_DIR }: Config,
  token: string | undefined,
): string {
  if (token === undefined && LOGFLARE_PRIVATE_ACCESS_TOKEN)
    return 'LOGFLARE_PRIVATE_ACCESS_TOKEN of the environment';
  if (token === undefined) {
    return 'issued tokens only (npm run token -- list); the one that a first start made is accepted until one is issued';
  }
  return ACCESS_TOKEN
    ? 'ACCESS_TOKEN of the environment'
    : `in ${DATA_DIR}/sample-token, until one is issued`;
}
