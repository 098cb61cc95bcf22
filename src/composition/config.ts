import { z } from 'zod';
import { givenLimits } from '../auth/usage/token-limits.ts';
import { messageOf } from '../base/errors.ts';
import { readTableMapping, type TableMapping } from '../bigquery/client/table-mapping.ts';
import { ownHost } from '../http-messages/own-host.ts';
import { redactionKinds } from '../redaction/redaction-kinds.ts';
import { checkRedisUrl } from '../store/redis-url.ts';

const text = z.string().trim().min(1);
// Blanks alone would be read as 0, which means no limit for some variables.
const count = (initial: number, min: number, max: number) =>
  text.pipe(z.coerce.number<string>().int().min(min).max(max)).default(initial);
const limit = (max: number) => z.coerce.number().int().min(1).max(max).optional();
const list = z.string().transform(value =>
  value
    .split(',')
    .map(part => part.trim())
    .filter(Boolean),
);
/** Origins as browsers send them: without a slash at the end, and without the scheme's default port. */
const origins = list.transform((given, context) =>
  given.map(text => {
    if (text === '*' || text === 'null') return text;
    const url = /^[\w+.-]+:\/\/[^\s/?#@*]+\/?$/.test(text) ? URL.parse(text) : null;
    if (!url)
      context.addIssue(`${text} is not an origin; allowed: *, or an origin such as https://studio.example`);
    // Node knows no origins of other schemes, such as those of browsers' extensions.
    return url && url.origin !== 'null' ? url.origin : text.replace(/\/$/, '');
  }),
);
const redisUrl = text.superRefine((url, context) => {
  const problem = checkRedisUrl(url);
  if (problem) context.addIssue(problem);
});
const tableMapping = list.transform((assignments, context): TableMapping => {
  try {
    return readTableMapping(assignments);
  } catch (error) {
    context.addIssue(messageOf(error));
    return z.NEVER;
  }
});
/** Over plain HTTP from another machine, keys could be replaced on their way, and tokens forged with them. */
const safeKeysUrl = new RegExp(`^https:|^http://${ownHost}[:/]`, 'i');
const jwksUrl = z.url({ protocol: /^https?$/ }).refine(url => safeKeysUrl.test(url), {
  message: 'must be https:, or http: on this machine',
});
const claimNames = list.transform((pairs, context): ReadonlyMap<string, string> => {
  const names = pairs.map(pair => /^(\w+)=([\w.:/-]+)$/.exec(pair)?.slice(1) ?? []);
  if (names.some(({ length }) => length === 0)) context.addIssue('must be parameter=claim, comma-separated');
  return new Map(names as [string, string][]); // two parts each, or an issue
});
const limits = list
  .transform(pairs =>
    Object.fromEntries(pairs.map(pair => pair.split('=')).map(([name, of]) => [name, Number(of)])),
  )
  .pipe(givenLimits);
const flag = z.enum(['true', 'false']).transform(value => value === 'true');

/**
 * Every variable of the environment that the service reads: its shape, its default, its meaning.
 * `docs/configuration.md` and `.env.example` list the same rows; a test keeps them equal.
 */
export const variables = {
  PORT: { schema: count(4000, 0, 65_535), meaning: 'TCP port to listen on; 0 takes a free one.' },
  HOST: { schema: text.default('127.0.0.1'), meaning: 'Address to listen on.' },
  ENGINE: { schema: z.enum(['duckdb', 'bigquery']).default('duckdb'), meaning: 'Executor of the queries: `duckdb` is embedded, `bigquery` the warehouse.' },
  BIGQUERY_PROJECT: { schema: text.optional(), meaning: 'Project that runs the queries and pays for them; needed for `ENGINE=bigquery`.' },
  BIGQUERY_TABLES: { schema: tableMapping.optional(), meaning: 'Tables of the sources, `source=project.dataset.table`, comma-separated; for those whose files name no `table`.' },
  BIGQUERY_LOCATION: { schema: text.optional(), meaning: 'Region of the jobs, such as `EU`; unset: BigQuery derives it from the tables.' },
  BIGQUERY_API_ENDPOINT: { schema: z.url({ protocol: /^https?$/ }).optional(), meaning: 'Another endpoint of the REST API of BigQuery: a regional or private one, or an emulator. One with plain `http:` or on this machine is an emulator, and is sent no credentials; unset: the global one.' },
  BIGQUERY_MAX_BYTES_BILLED: { schema: count(100 * 1024 ** 3, 0, Number.MAX_SAFE_INTEGER), meaning: 'Bytes that one query may be billed, by default 100 GiB; BigQuery refuses a query that would cost more; 0 = no limit.' },
  BIGQUERY_MAX_CONCURRENT_QUERIES: { schema: count(32, 1, 1000), meaning: 'Queries that one gateway runs on BigQuery at the same time; more wait.' },
  BIGQUERY_RESERVATION: { schema: text.optional(), meaning: 'Reservation of the jobs, `projects/P/locations/L/reservations/R`; unset: the one assigned to the project.' },
  BIGQUERY_BACKGROUND_PRIORITY: { schema: z.enum(['interactive', 'batch']).default('interactive'), meaning: 'Priority of queries that nobody waits for; `batch` starts them when BigQuery has idle slots.' },
  REDIS_URL: { schema: redisUrl.optional(), meaning: 'Redis shared by all gateways: `redis://`, `redis+sentinel://` or `redis+cluster://`, with `rediss` for TLS; unset: the cache is in process.' },
  REDIS_TIMEOUT_MS: { schema: count(50, 1, 1000), meaning: 'Milliseconds that a request waits for Redis before it goes on without it; more than 50 for a Redis that is far away.' },
  ACCESS_TOKEN: { schema: text.optional(), meaning: 'One plain token to accept, for development; with `NODE_ENV=production` 24 characters or more.' },
  TOKENS_STORE: { schema: z.enum(['file', 'redis']).default('file'), meaning: 'Where issued tokens are kept: `file`, or `redis` for the Redis of `REDIS_URL`, which must not evict keys without a time to live.' },
  TOKENS_FILE: { schema: text.optional(), meaning: 'File of issued tokens, hashed; default `tokens.json` in `DATA_DIR`.' },
  TOKEN_HASHES: { schema: list.pipe(z.array(z.string().regex(/^[0-9a-f]{64}$/i, 'must be SHA-256 digests in hexadecimal'))).optional(), meaning: 'SHA-256 digests of further tokens, hexadecimal, comma-separated.' },
  JWT_ISSUER: { schema: text.optional(), meaning: 'Issuer (`iss`) whose JSON Web Tokens are accepted, too; needs `JWT_AUDIENCE`, and `JWT_JWKS_URL` or `JWT_SECRET`.' },
  JWT_AUDIENCE: { schema: text.optional(), meaning: 'Audience (`aud`) that a JSON Web Token must name.' },
  JWT_JWKS_URL: { schema: jwksUrl.optional(), meaning: 'Where the issuer publishes its keys for RS256, ES256 and EdDSA: `https:`, or `http:` on this machine.' },
  JWT_SECRET: { schema: z.string().min(32).optional(), meaning: 'Key of JSON Web Tokens signed by HS256, 32 characters or more.' },
  JWT_LEEWAY_SECONDS: { schema: count(30, 0, 300), meaning: "Seconds by which the issuer's clock may differ." },
  JWT_PARAMETER_CLAIMS: { schema: claimNames.optional(), meaning: 'Claims that fix parameters, `parameter=claim`, comma-separated, such as `project=ref`; a JSON Web Token without one of them is refused.' },
  JWT_MAX_AGE_SECONDS: { schema: z.coerce.number().pipe(z.int().min(1)).optional(), meaning: 'Seconds after its issue (`iat`) for which a JSON Web Token is accepted at most, whatever its end; unset: until its end.' },
  JWT_LIMITS: { schema: limits.optional(), meaning: 'Limits of each subject of JSON Web Tokens, `name=number`, comma-separated: `requestsPerSecond`, `burst`, `requestsPerMinute`, `bytesPerDay`, `bytesPerMonth`; a token may say others in its claim `sqg_limits`.' },
  LOGFLARE_PUBLIC_ACCESS_TOKEN: { schema: text.optional(), meaning: 'Token that sends events and asks nothing, as a self-hosted Supabase sets it for its Logflare.' },
  LOGFLARE_PRIVATE_ACCESS_TOKEN: { schema: text.optional(), meaning: 'Token with all rights, as a self-hosted Supabase sets it for its Logflare.' },
  METRICS_NEED_TOKEN: { schema: flag.default(false), meaning: '`true` or `false`: `GET /metrics` needs a token with the scope `metrics`.' },
  DOCUMENTS_NEED_TOKEN: { schema: flag.default(false), meaning: '`true` or `false`: `GET /openapi.json` and `GET /llms.txt`, which list all saved queries, need a token with the scope `introspect`.' },
  SAMPLE_ROWS: { schema: count(50_000, 0, 10_000_000), meaning: 'Edge log rows of sample data in seven days; 0 = no sample data, the default with `COMPAT=logflare`.' },
  DATA_DIR: { schema: text.default('.data'), meaning: 'Folder of the embedded database and of the tokens.' },
  RETENTION_DAYS: { schema: limit(36_500), meaning: 'Days after which rows go away, for sources that do not say `retentionDays`; unset: never.' },
  RETENTION_MB: { schema: limit(1_048_576), meaning: 'Megabytes of the rows of each source that does not say `retentionMb`, the oldest going first; unset: no limit, with `COMPAT=logflare` 1024.' },
  SOURCES_DIR: { schema: text.default('schema/sources'), meaning: 'Folder of the sources.' },
  SQL_DIR: { schema: text.default('sql'), meaning: 'Folder of the saved queries; default with `COMPAT=logflare` on the embedded engine: `examples/supabase/sql`.' },
  COMPAT: { schema: z.enum(['none', 'logflare']).default('none'), meaning: '`logflare`: query failures answer 200 with the error object, access failures `401 {"error":"Unauthorized"}`; no sample data.' },
  REDACT_KINDS: { schema: list.pipe(z.array(z.enum(redactionKinds)).min(1)).default([...redactionKinds]), meaning: 'Kinds of personal data that redaction replaces, comma-separated: `ipv4`, `ipv6`, `email`, `bearer`, `jwt`.' },
  CORS_ORIGINS: { schema: origins.default(['*']), meaning: 'Origins whose pages may call the service, comma-separated; `*` = any.' },
  PAGES: { schema: flag.default(true), meaning: '`true` or `false`: serve browsers the Explorer at `/` and the page of the API at `/docs`.' },
  GRAPHIQL: { schema: flag.optional(), meaning: '`true` or `false`: serve the GraphiQL page at `/graphql`; default: `true` unless `NODE_ENV` is `production`.' },
  GRAPHQL_OPERATIONS_FILE: { schema: text.optional(), meaning: 'List of GraphQL documents by `npm run operations`: no others are executed; unset: all are.' },
  NODE_ENV: { schema: text.optional(), meaning: '`production` switches the development page off, prints no token, and refuses a short `ACCESS_TOKEN`.' },
  LOG_LEVEL: { schema: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'), meaning: 'Lowest level that is logged, on standard error.' },
  LOG_FORMAT: { schema: z.enum(['json', 'pretty']).optional(), meaning: '`json`: one JSON line an event; `pretty`: for reading; default: `pretty` if standard error is a terminal, else `json`.' },
  RECEIVE_TIMEOUT_MS: { schema: count(15_000, 100, 60_000), meaning: "Milliseconds in which a request's headers, and each next part of its body, must arrive; else 408." },
  SEND_TIMEOUT_MS: { schema: count(20_000, 100, 600_000), meaning: 'Milliseconds in which a caller must read at least a part of its answer; else its connection ends.' },
  MAX_UNREAD_MB: { schema: count(128, 1, 1_048_576), meaning: 'Megabytes of answers that may wait for their readers, over all connections. Beyond that, connections end: those of the access token with the most waiting bytes first, and of these the ones whose readers have been idle longest.' },
  MAX_CONNECTIONS: { schema: count(2000, 1, 1_000_000), meaning: 'Connections that may be open. A further one replaces an idle one of the access token that has the most; without an idle one, the one that has been sending its request for the longest, or else one whose reader has stopped. An access token with less than half of an equal share loses none. One access token may have requests in progress on three quarters of them; a further request gets 429, and its connection ends.' },
  DRAIN_MS: { schema: count(8000, 100, 600_000), meaning: 'Milliseconds that a gateway or a worker may take to end after SIGTERM.' },
  QUERY_TIMEOUT_MS: { schema: count(30_000, 1, 600_000), meaning: 'Milliseconds one query may take, and one request with all its queries.' },
  MAX_CONCURRENT_QUERIES: { schema: count(4, 1, 64), meaning: 'Queries that the embedded engine runs at the same time, each in a process of its own, with `COMPAT=logflare` 2 by default; more wait.' },
  MAX_WAITING_QUERIES: { schema: count(512, 1, 65_536), meaning: 'Queries that may wait; more get 503.' },
  MAX_WAITING_PER_TOKEN: { schema: count(128, 1, 65_536), meaning: 'Queries of one access token that may wait; more get 429.' },
  MAX_RESULT_MB: { schema: count(16, 1, 256), meaning: 'Megabytes of JSON that one result may have; larger ones get 400. Above 16, a result may hold up other requests for more than 100 ms.' },
  BATCH_WINDOW_MS: { schema: count(0, 0, 1000), meaning: 'Milliseconds that a query with a batch form waits for others, to share one run; 0 = it does not wait.' },
  ENGINE_MEMORY_MB: { schema: count(2048, 64, 1_048_576), meaning: 'Megabytes of the embedded engine for data, sorts and aggregates, shared out evenly among the queries that may run at the same time.' },
  CACHE_MEMORY_MB: { schema: count(64, 0, 1_048_576), meaning: 'Megabytes of the in-process cache; 0 = with Redis every hit reads Redis.' },
  CACHE_MAX_ENTRY_MB: { schema: count(8, 1, 256), meaning: 'Megabytes of an answer that the cache keeps; larger ones run the query for each request.' },
  WARM_IN_PROCESS: { schema: flag.optional(), meaning: '`true` or `false`: the gateway itself keeps what is read fresh; default: `true` unless `REDIS_URL` is set, where `npm run worker` does.' },
  WARM_CONCURRENCY: { schema: count(1, 1, 64), meaning: 'Groups of keys that one worker warms at the same time.' },
  WARM_MAX_KEYS: { schema: count(20_000, 1, 1_000_000), meaning: 'Keys that are kept warm; beyond that, the least read are dropped.' },
  WARM_BYTES_PER_HOUR: { schema: count(0, 0, Number.MAX_SAFE_INTEGER), meaning: 'Bytes that one worker lets the engine read in an hour; 0 = no limit.' },
} satisfies Record<string, { schema: z.ZodType; meaning: string }>; // biome-ignore format: a table

/** Minimum characters of a plain token, too many to guess: 18 random bytes as base64. */
const minTokenLength = 24;

type Variables = typeof variables;

/** The parsed environment. */
export type Config = { readonly [Name in keyof Variables]: z.output<Variables[Name]['schema']> };

/** The environment can't be used; the message has a line for each variable. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/**
 * Reads the environment; a variable set to an empty text counts as unset.
 * @throws ConfigError
 */
export function readConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  const problems: string[] = [];
  const config: Record<string, unknown> = {};
  for (const [name, { schema }] of Object.entries(variables)) {
    const read = schema.safeParse(environment[name] || undefined);
    if (read.success) config[name] = read.data;
    else problems.push(`${name}: ${read.error.issues.map(issue => issue.message).join('; ')}`);
  }
  // An installation for its own logs starts without sample rows.
  if (config.COMPAT === 'logflare' && !environment.SAMPLE_ROWS) config.SAMPLE_ROWS = 0;
  if (config.COMPAT === 'logflare') config.RETENTION_MB ??= 1024;
  // Each concurrent query takes 40 MB, on machines that have little.
  if (config.COMPAT === 'logflare' && !environment.MAX_CONCURRENT_QUERIES) config.MAX_CONCURRENT_QUERIES = 2;
  if (config.ENGINE === 'bigquery') {
    if (!environment.BIGQUERY_PROJECT) problems.push('BIGQUERY_PROJECT: needed for ENGINE=bigquery');
  }
  // Only for the embedded engine: a warehouse may lack tables that these saved queries read.
  if (config.COMPAT === 'logflare' && config.ENGINE === 'duckdb' && !environment.SQL_DIR) {
    config.SQL_DIR = 'examples/supabase/sql';
  }
  if (config.TOKENS_STORE === 'redis' && !environment.REDIS_URL) {
    problems.push('REDIS_URL: needed for TOKENS_STORE=redis');
  }
  problems.push(...problemsOfJwt(environment));
  const { NODE_ENV, ACCESS_TOKEN = '' } = config;
  if (NODE_ENV === 'production' && ACCESS_TOKEN && String(ACCESS_TOKEN).length < minTokenLength) {
    problems.push(
      `ACCESS_TOKEN: too short for NODE_ENV=production; allowed: ${minTokenLength} characters or more`,
    );
  }
  if (problems.length > 0) throw new ConfigError(problems.join('\n'));
  return config as Config; // each value has come through its own schema
}

/** Problems of an incomplete set-up of JSON Web Tokens, which would accept none, or those meant for other services. */
function problemsOfJwt(environment: Readonly<Record<string, string | undefined>>): string[] {
  const { JWT_ISSUER, JWT_AUDIENCE, JWT_JWKS_URL, JWT_SECRET } = environment;
  if (!JWT_ISSUER && !JWT_AUDIENCE && !JWT_JWKS_URL && !JWT_SECRET) return [];
  return [
    ...(JWT_ISSUER ? [] : ['JWT_ISSUER: needed for JSON Web Tokens']),
    ...(JWT_AUDIENCE ? [] : ['JWT_AUDIENCE: needed for JSON Web Tokens']),
    ...(JWT_JWKS_URL || JWT_SECRET ? [] : ['JWT_JWKS_URL: this or JWT_SECRET is needed for JSON Web Tokens']),
  ];
}
