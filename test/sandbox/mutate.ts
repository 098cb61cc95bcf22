import { attacks, innocents } from './attacks.ts';
import { plainQueries } from './plain-queries.ts';

const hostile = attacks.flatMap(({ statements }) => statements);

const names = [
  'edge_logs', 'postgres_logs', 'auth_logs', 'function_logs', 'id', 'metadata', 'event_message', 'timestamp', 'project', 'm', 'e', 'a', 'p',
  '`postgres.logs`', '`cloudflare.logs.prod`', 'postgres.logs', 'secrets', 'main.secrets', '`deno-relay-logs`', 'w1', 'w2', 'w3', 'r1', 'c0',
  "read_text('/etc/passwd')", 'duckdb_tables()', 'information_schema.tables', 'sqlite_master', '@project', '$p1', '_p', 'metadata.project', '`$1`', '`$2`', '"it\'s"', "`x'`", '`a"b`',
]; // biome-ignore format: a word list

const noise = [
  '/**/', '/*', '*/', '-- \n', '--\r', '#\r', '# \n', ';', ';;', '\0', '\n', '\r', '\u2028', '\u00a0', "'", '"', '`', '\\', "''", '""', "'''", '(', ')', '((', '))', '[', ']',
  ',', '.', '*', '::', '@', '@@', '$', '|>', 'r', 'b', 'e', '\u212a', 'ı', '{', '}', '<', '>', '||', 'not ', ' as ', ' null ', ' 0 ', ' 1e308 ', ' -1 ',
]; // biome-ignore format: a word list

const token = /`[^`]*`|'[^']*'|"[^"]*"|--[^\n]*|\w+|\s+|[^\w\s]/g;
const isWord = /^\w+$/;
const isGroup = /\((?:[^()]|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))*\)/g;

const hostileTokens = hostile.map(tokens);
const plainTokens = [...plainQueries, ...innocents].map(tokens);
const groups = [...plainQueries, ...innocents, ...hostile].flatMap(sql => sql.match(isGroup) ?? []);

/** Numbers in [0, 1) that a seed repeats. */
export type Random = () => number;

/** The generator mulberry32. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** A statement made of the attacks and of plain queries: some changes keep to the grammar, some know none. */
export function mutant(random: Random): string {
  let sql = pick(random, random() < 0.75 ? plainTokens : hostileTokens).join('');
  const changes = 1 + Math.floor(random() * random() * 6);
  for (let n = 0; n < changes; n++) sql = pick(random, random() < 0.7 ? aware : blind)(sql, random);
  return sql;
}

type Mutation = (sql: string, random: Random) => string;

/** Changes that often leave a statement which parses. */
const aware: readonly Mutation[] = [
  swapName,
  swapName,
  swapGroup,
  (sql, random) => sql.replace(/(?<=\b(?:from|join) )\w+/i, () => pick(random, names)),
  (sql, random) => sql.replace(/(?<=\b(?:from|join) )\w+/i, () => `(${other(random)})`),
  (sql, random) =>
    `${sql} ${pick(random, ['union all', 'union distinct', 'except distinct'])} ${other(random)}`,
  (sql, random) => `select * from (${sql}) cross join (${other(random)})`,
  (sql, random) => `with ${pick(random, names)} as (${sql}) ${other(random)}`,
  (sql, random) => `with z as (${sql}) select * from z join ${pick(random, names)} on true`,
  sql => `select exists (${sql})`,
  sql => `select array(${sql})`,
  sql => `(${sql})`,
  (sql, random) => `${sql} where ${condition(random)}`,
  (sql, random) => sql.replace(/\bwhere\b/i, () => `where ${condition(random)} and`),
  (sql, random) => sql.replace(/\b(?:id|event_message)\b/, () => `(${other(random)})`),
  sql => sql.replace(/\b(?:id|event_message)\b/, 'cast(event_message as int64)'),
  (sql, random) => sql.replace(/ (?=\w)/, () => pick(random, ['/* x */', '\n', ' -- \n', ' # x\r'])),
];

/** Changes that know tokens at most. */
const blind: readonly Mutation[] = [
  (sql, random) => edit(sql, random, list => [...list, ...tokens(other(random)).slice(at(random, 20))]),
  (sql, random) => insert(sql, random, fragment(random)),
  (sql, random) => insert(sql, random, [pick(random, noise)]),
  (sql, random) => edit(sql, random, (list, from, to) => [...list.slice(0, from), ...list.slice(to)]),
  (sql, random) => edit(sql, random, (list, from, to) => [...list.slice(0, to), ...list.slice(from)]),
  (sql, random) =>
    edit(sql, random, (list, from, to) => [
      ...list.slice(0, from),
      '(',
      ...list.slice(from, to),
      ')',
      ...list.slice(to),
    ]),
  (sql, random) =>
    edit(sql, random, (list, from) => list.map((word, i) => (i === from ? flipCase(word, random) : word))),
  (sql, random) => {
    const place = at(random, sql.length);
    return sql.slice(0, place) + pick(random, noise) + sql.slice(place + at(random, 3));
  },
];

function swapName(sql: string, random: Random): string {
  const list = tokens(sql);
  const words = list.flatMap((word, i) => (isWord.test(word) ? [i] : []));
  if (words.length === 0) return sql;
  list[pick(random, words)] = pick(random, names);
  return list.join('');
}

/** Puts a bracket of one statement in the place of a bracket of another. */
function swapGroup(sql: string, random: Random): string {
  const own = sql.match(isGroup);
  return own ? sql.replace(pick(random, own), () => pick(random, groups)) : sql;
}

function condition(random: Random): string {
  return pick(random, [
    'cast(event_message as int64) > 0',
    '1 / length(event_message) > 0',
    `id in (${other(random)})`,
    `exists (${other(random)})`,
    'true or 1 = 1',
    'regexp_contains(event_message, id)',
    "parse_timestamp('%F', event_message) is not null",
  ]);
}

function other(random: Random): string {
  return pick(random, random() < 0.85 ? plainTokens : hostileTokens).join('');
}

function fragment(random: Random): readonly string[] {
  const list = pick(random, random() < 0.5 ? plainTokens : hostileTokens);
  const from = at(random, list.length);
  return list.slice(from, from + 1 + at(random, 8));
}

function insert(sql: string, random: Random, added: readonly string[]): string {
  return edit(sql, random, (list, from) => [...list.slice(0, from), ...added, ...list.slice(from)]);
}

function edit(
  sql: string,
  random: Random,
  change: (list: readonly string[], from: number, to: number) => readonly string[],
): string {
  const list = tokens(sql);
  const from = at(random, list.length);
  return change(list, from, from + 1 + at(random, 6)).join('');
}

function flipCase(word: string, random: Random): string {
  return [...word].map(c => (random() < 0.5 ? c.toUpperCase() : c.toLowerCase())).join('');
}

function tokens(sql: string): string[] {
  return sql.match(token) ?? [];
}

function at(random: Random, below: number): number {
  return Math.floor(random() * below);
}

function pick<Item>(random: Random, items: readonly Item[]): Item {
  return items[at(random, items.length)]!;
}
