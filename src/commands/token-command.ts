import { endpointsPattern } from '../auth/caller.ts';
import { allowJwt, denyJwt, issueToken, revokeToken, rotateToken } from '../auth/manage-tokens.ts';
import { defaultScopes, scopes } from '../auth/scopes.ts';
import {
  deniedId,
  grantedScopes,
  isDenial,
  issuedIn,
  type TokenRecord,
  type TokenRecords,
} from '../auth/token-record.ts';
import { claimedTokenId } from '../auth/token-text.ts';
import type { Clock } from '../base/clock.ts';
import { didYouMean } from '../base/nearest-name.ts';
import { readDuration } from '../base/parse-timestamp.ts';
import { parseCommand, UsageError } from './command-line.ts';
import { grantOptions, readGrants } from './token-options.ts';

type TokenCommandDeps = {
  readonly records: TokenRecords;
  /** When tokens were last used, by id: milliseconds since 1970, to the minute. */
  readonly lastUses: (tokenIds: readonly string[]) => Promise<ReadonlyMap<string, number>>;
  /** The names of the saved queries; undefined while a file is wrong. */
  readonly savedQueries: () => Promise<readonly string[] | undefined>;
  readonly clock: Clock;
  /** Writes one line to standard output: the result. */
  readonly print: (line: string) => void;
  /** Writes one line to standard error: a note about the result. */
  readonly note: (line: string) => void;
};

type Action = {
  readonly help: string;
  run(deps: TokenCommandDeps, args: string[]): Promise<void>;
};

const actions: Readonly<Record<string, Action>> = {
  issue: {
    help: `npm run token -- issue --name <who> [options]

Makes a token and prints it; it can't be seen again.

  --name <who>               who will use it
  --endpoint <name or glob>  a saved query that it may ask, such as logs.all or 'usage.*'; may be repeated; default: all
  --param <name>=<value>     fixes a parameter: nothing else can be read with the token; may be repeated
  --scope <scope>            a further right, or the duty force-redact; may be repeated: ${scopes.join(', ')}
  --without <scope>          takes a default right away: ${defaultScopes.join(', ')}
  --expires <date or time>   2027-01-31, or 90d, 12h, 30m; default: never
  --requests-per-second <n>  and --requests-per-minute <n>: more get 429
  --burst <n>                requests that may come at once after a pause; default: those of a second
  --bytes-per-day <n>        and --bytes-per-month <n>: bytes that its queries may read; beyond, stored answers alone
  --max-bytes-billed <n>     bytes that one of its queries may be billed
  --json                     prints {"token": …} with all that list shows`,
    run: issue,
  },
  list: {
    help: `npm run token -- list [--json]

Shows the tokens that were issued, without their secrets.`,
    run: list,
  },
  show: {
    help: `npm run token -- show <id> [--json]

Shows one token, without its secret. An id is the eight characters behind sqg_; sqg_<id> will do.`,
    run: show,
  },
  rotate: {
    help: `npm run token -- rotate <id> [--grace <time>] [--json]

Gives a token a new secret and prints it. Its id and all that it allows stay.

  --grace <time>             how long the secret so far is accepted still, such as 30m, 24h or 7d; default 24h, 0s = not at all`,
    run: rotate,
  },
  revoke: {
    help: `npm run token -- revoke <id> [--json]

Refuses a token from now on, in every gateway within two seconds. For JSON Web Tokens, the id is jwt-…, which the log shows: all tokens
of that subject are refused, those to come too; or jti:<claim>: the one token with that claim.`,
    run: revoke,
  },
  allow: {
    help: `npm run token -- allow <id> [--json]

Accepts JSON Web Tokens again that were revoked by jwt-… or jti:<claim>. An issued token that was revoked stays so.`,
    run: allow,
  },
};

/**
 * Runs `token issue|list|show|rotate|revoke|allow`.
 * @throws UsageError
 */
export async function runTokenCommand(deps: TokenCommandDeps, args: readonly string[]): Promise<void> {
  const [name = '', ...rest] = args;
  const action = Object.hasOwn(actions, name) ? actions[name] : undefined;
  if (!action) {
    if (!args.includes('--help'))
      throw new UsageError('token takes issue, list, show, rotate, revoke or allow');
    for (const { help } of Object.values(actions)) deps.print(`${help}\n`);
    return;
  }
  if (rest.includes('--help')) return deps.print(action.help);
  await action.run(deps, rest);
}

const json = { json: { type: 'boolean' } } as const;

async function issue(
  { records, savedQueries, clock, print, note }: TokenCommandDeps,
  args: string[],
): Promise<void> {
  const { values, positionals } = parseCommand(args, { name: { type: 'string' }, ...grantOptions, ...json });
  rejectFurther('issue', positionals, 0);
  if (!values.name) throw new UsageError('token issue needs --name <who>');
  const token = await issueToken(records, { name: values.name, clock, ...readGrants(values, clock) });
  await printToken({ records, print, note }, token, values.json);
  const names = values.endpoint && (await savedQueries());
  if (values.endpoint && names) noteUnknown(values.endpoint, names, note);
  if (issuedIn(await records.read()).length === 1) {
    note(
      'It is the first: without ACCESS_TOKEN, the next start no longer accepts the one that a first start made.',
    );
  }
}

/** A token may be issued before its saved query is there, but most often the name is mistyped. */
function noteUnknown(globs: readonly string[], names: readonly string[], note: (line: string) => void): void {
  for (const glob of globs) {
    const pattern = endpointsPattern([glob]);
    if (names.some(name => pattern?.test(name))) continue;
    note(`No saved query has the name ${JSON.stringify(glob)} now${didYouMean(glob, names)}`);
  }
}

async function list({ records, lastUses, print }: TokenCommandDeps, args: string[]): Promise<void> {
  const { values, positionals } = parseCommand(args, json);
  rejectFurther('list', positionals, 0);
  const all = await records.read();
  const issued = issuedIn(all);
  const uses = await lastUses(issued.map(({ id }) => id));
  const shown = issued.map(record => ({ ...shownOf(record), lastUsedAt: timeOf(uses.get(record.id)) }));
  const denied = all.filter(isDenial);
  if (values.json) return print(JSON.stringify([...shown, ...denied]));
  for (const each of shown) print(lineOf(each));
  for (const { id, deniedAt } of denied) print(`${id}  revoked ${deniedAt}`);
}

async function show({ records, lastUses, print }: TokenCommandDeps, args: string[]): Promise<void> {
  const { values, positionals } = parseCommand(args, json);
  const id = idOf('show', positionals);
  const record = await find(records, id);
  const shown = { ...shownOf(record), lastUsedAt: timeOf((await lastUses([id])).get(id)) };
  if (values.json) return print(JSON.stringify(shown));
  for (const [name, value] of Object.entries(shown)) {
    if (value !== undefined) print(`${name.padEnd(16)} ${textOf(value)}`);
  }
}

async function rotate({ records, clock, print, note }: TokenCommandDeps, args: string[]): Promise<void> {
  const { values, positionals } = parseCommand(args, { grace: { type: 'string' }, ...json });
  const id = idOf('rotate', positionals);
  const graceMs = readDuration(values.grace ?? '24h');
  if (graceMs === undefined) {
    throw new UsageError(
      `--grace is ${JSON.stringify(values.grace)}; allowed: a time such as 30m, 24h or 7d`,
    );
  }
  await find(records, id);
  const token = await rotateToken(records, { id, graceMs, clock });
  if (token === undefined)
    throw new UsageError(`The token sqg_${id} is revoked or has expired; issue a new one`);
  await printToken({ records, print, note }, token, values.json);
}

async function revoke({ records, clock, print }: TokenCommandDeps, args: string[]): Promise<void> {
  const { values, positionals } = parseCommand(args, json);
  const id = idOf('revoke', positionals);
  if (deniedId.test(id)) {
    await denyJwt(records, { id, clock });
    return print(values.json ? JSON.stringify({ id, isDenied: true }) : `${id} is revoked`);
  }
  if (!(await revokeToken(records, { id, clock }))) throw noSuchToken(id);
  print(values.json ? JSON.stringify(shownOf(await find(records, id))) : `sqg_${id} is revoked`);
}

async function allow({ records, print }: TokenCommandDeps, args: string[]): Promise<void> {
  const { values, positionals } = parseCommand(args, json);
  const id = idOf('allow', positionals);
  if (!(await allowJwt(records, id)))
    throw new UsageError(`No JSON Web Token is revoked by ${JSON.stringify(id)}`);
  print(values.json ? JSON.stringify({ id, isDenied: false }) : `${id} is allowed`);
}

function idOf(action: string, positionals: readonly string[]): string {
  const [id] = positionals;
  if (!id) throw new UsageError(`token ${action} needs the id of a token`);
  rejectFurther(action, positionals, 1);
  return id.replace(/^sqg_/, '');
}

function rejectFurther(action: string, positionals: readonly string[], taken: number): void {
  if (positionals.length <= taken) return;
  throw new UsageError(`token ${action} does not take ${JSON.stringify(positionals[taken])}`);
}

async function find(records: TokenRecords, id: string): Promise<TokenRecord> {
  const found = issuedIn(await records.read()).find(record => record.id === id);
  if (!found) throw noSuchToken(id);
  return found;
}

function noSuchToken(id: string): UsageError {
  return new UsageError(`No token has the id ${JSON.stringify(id)}`);
}

async function printToken(
  { records, print, note }: Pick<TokenCommandDeps, 'records' | 'print' | 'note'>,
  token: string,
  asJson: boolean | undefined,
): Promise<void> {
  const shown = shownOf(await find(records, claimedTokenId(token) ?? token));
  print(asJson ? JSON.stringify({ token, ...shown }) : token);
  note(`Keep it: only its hash is stored, in ${records.place}.`);
}

/** A record as commands show it: without hashes, and with its effective scopes. */
function shownOf(record: TokenRecord) {
  const { id, name, hash: _hash, without: _without, previous, ...rest } = record;
  return { id, name, ...rest, scopes: grantedScopes(record), previousUntil: previous?.until };
}

function timeOf(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : new Date(ms).toISOString();
}

function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.join(', ') || 'none';
  if (typeof value === 'object' && value !== null) {
    return Object.entries(value)
      .map(([name, each]) => `${name}=${each}`)
      .join(', ');
  }
  return String(value);
}

function lineOf(shown: ReturnType<typeof shownOf> & { readonly lastUsedAt: string | undefined }): string {
  const { id, name, scopes: own, endpoints, parameters, limits, maxBytesBilled } = shown;
  const { createdAt, expiresAt, revokedAt, lastUsedAt } = shown;
  const end = expiresAt ? `expires ${expiresAt}` : 'does not expire';
  const parts = [
    `sqg_${id}`,
    `issued ${createdAt}`,
    revokedAt ? `revoked ${revokedAt}` : end,
    lastUsedAt && `used ${lastUsedAt}`,
    name,
    `may ${own.join(', ') || 'read'}`,
    endpoints && `of ${endpoints.join(', ')}`,
    parameters && `only ${textOf(parameters)}`,
    limits && `within ${textOf(limits)}`,
    maxBytesBilled && `at most ${maxBytesBilled} bytes a query`,
  ];
  return parts.filter(Boolean).join('  ');
}
