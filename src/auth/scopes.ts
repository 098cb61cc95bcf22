/**
 * Rights of a token besides reading saved queries, and one duty. `docs/tokens.md` lists the same rows; a test keeps the two equal.
 */
export const scopeMeanings = {
  sandbox: 'Send SQL (`sql`) to sandboxed saved queries.',
  introspect:
    'Read the GraphQL schema, `__schema` and `__type`; the OpenAPI document and `/llms.txt` where `DOCUMENTS_NEED_TOKEN=true`.',
  explain: 'Ask what a query would do and cost: `?explain=true`.',
  'no-cache': 'Run the query whatever is stored: `Cache-Control: no-cache`.',
  warm: 'See what is kept fresh: `GET /admin/warm`.',
  invalidate: 'Invalidate stored answers: `POST /admin/invalidate`.',
  metrics: 'Read `GET /metrics` where `METRICS_NEED_TOKEN=true`.',
  write: 'Load rows, `POST /api/sources/<name>/rows`, and send events, `POST /api/logs`.',
  admin: 'All of `warm`, `invalidate` and `metrics`.',
  'force-redact': 'A duty: every answer is redacted, whatever the saved query or the request says.',
} as const;

export type Scope = keyof typeof scopeMeanings;

/** All scopes, in the order of the documentation. */
export const scopes = Object.keys(scopeMeanings) as readonly Scope[]; // the keys of a literal

/** All rights, without the duty. */
export const allRights: readonly Scope[] = scopes.filter(scope => scope !== 'force-redact');

/** Scopes that an issued token has unless they are withheld: all tokens had these rights before the scopes existed. */
export const defaultScopes: readonly Scope[] = ['sandbox', 'introspect'];

const partsOfAdmin: readonly Scope[] = ['warm', 'invalidate', 'metrics'];

/** The scopes that a list of granted ones amounts to: `admin` includes others. */
export function effectiveScopes(granted: readonly Scope[]): ReadonlySet<Scope> {
  return new Set(granted.includes('admin') ? [...granted, ...partsOfAdmin] : granted);
}
