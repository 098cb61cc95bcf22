import { GatewayError } from '../../src/base/errors.ts';
import type { CompiledStatement } from '../../src/googlesql/compile-duckdb.ts';
import { compileCaller } from './compile-caller.ts';
import { type MarkedDatabase, marker, type Outcome } from './marked-database.ts';
import { mutant, seededRandom } from './mutate.ts';
import { readPrinted } from './read-printed.ts';

export type FuzzCounts = {
  mutants: number;
  accepted: number;
  /** Refusals by code. */
  refused: Record<string, number>;
  executed: number;
  /** Executed statements that DuckDB refused or failed, by its kind of error. */
  failed: Record<string, number>;
};

export type Escape = { readonly sql: string; readonly why: string; readonly printed?: string };

export type FuzzOptions = {
  readonly seed: number;
  readonly mutants: number;
  /** One of this many accepted statements is run; 1 runs all. */
  readonly runEvery: number;
  /** The sources with the rows that nobody may see, with as many that hold other values, and without them. */
  readonly marked: MarkedDatabase;
  readonly other: MarkedDatabase;
  readonly plain: MarkedDatabase;
  readonly onProgress?: (counts: FuzzCounts, escapes: readonly Escape[]) => void;
};

type Accepted = { readonly sql: string; readonly compiled: CompiledStatement };

/** Statements that DuckDB parses at once. */
const batchSize = 100;

/** Answers differ from run to run, not from database to database. */
const isRandom = /generate_uuid|\brand\b/i;

/**
 * Holds mutants against the promise of the sandbox. Whatever is accepted
 * (a) reads the tables that it says, all of them the saved query's, and nothing else that DuckDB can read from;
 * (b) answers, and complains, as if the hidden rows were not there;
 * (c) is SQL to DuckDB.
 */
export async function fuzzSandbox(options: FuzzOptions): Promise<{ counts: FuzzCounts; escapes: Escape[] }> {
  const random = seededRandom(options.seed);
  const counts: FuzzCounts = { mutants: 0, accepted: 0, refused: {}, executed: 0, failed: {} };
  const escapes: Escape[] = [];
  let batch: Accepted[] = [];
  while (counts.mutants < options.mutants) {
    const sql = mutant(random);
    counts.mutants += 1;
    const compiled = compile(sql, options.marked, counts, escapes);
    if (compiled) batch.push({ sql, compiled });
    if (batch.length < batchSize && counts.mutants < options.mutants) continue;
    escapes.push(...(await foreignReads(options.marked, batch)));
    for (const [i, accepted] of batch.entries()) {
      if ((counts.accepted - batch.length + i) % options.runEvery !== 0) continue;
      const why = await leak(options, accepted, counts);
      if (why) escapes.push({ sql: accepted.sql, why, printed: accepted.compiled.sql });
    }
    batch = [];
    options.onProgress?.(counts, escapes);
  }
  return { counts, escapes };
}

function compile(
  sql: string,
  { catalog }: MarkedDatabase,
  counts: FuzzCounts,
  escapes: Escape[],
): CompiledStatement | undefined {
  try {
    const compiled = compileCaller(sql, catalog);
    counts.accepted += 1;
    return compiled;
  } catch (error) {
    const code = error instanceof GatewayError && error.position ? error.code : 'no GatewayError';
    counts.refused[code] = (counts.refused[code] ?? 0) + 1;
    if (code !== 'invalid_query' && code !== 'sandbox_refused') escapes.push({ sql, why: String(error) });
    return undefined;
  }
}

async function foreignReads(
  { connection, catalog }: MarkedDatabase,
  batch: readonly Accepted[],
): Promise<readonly Escape[]> {
  if (batch.length === 0) return [];
  const printed = await readPrinted(
    connection,
    batch.map(({ compiled }) => compiled.sql),
  );
  return batch.flatMap(({ sql, compiled }, i) => {
    const { tables, strangers } = printed[i]!;
    const isAsSaid = tables.toSorted().join() === compiled.tables.toSorted().join();
    if (isAsSaid && strangers.length === 0 && tables.every(name => catalog.has(name))) return [];
    return [{ sql, why: `reads ${[...tables, ...strangers].join(', ')}`, printed: compiled.sql }];
  });
}

/** What DuckDB says of a statement that the front-end should have refused: a caller would get a 502. */
const notOurs = /^(?:Binder|Parser|Catalog|INTERNAL|Not implemented) Error/i;

/**
 * A message that quotes a value of our own rows. Whether it comes may depend on how many rows a table has, from which DuckDB chooses what it
 * looks at first; if it is the same whatever the hidden rows hold, it says nothing of them.
 */
const quotesOurs = /(?:"[1-6]"|'[1-6]')/;

/** What of the hidden rows shows, or why the front-end should have refused the statement; undefined where neither is so. */
async function leak(
  { marked, other, plain }: FuzzOptions,
  { sql, compiled }: Accepted,
  counts: FuzzCounts,
): Promise<string | undefined> {
  counts.executed += 1;
  const [withHidden, without] = [await marked.run(compiled), await plain.run(compiled)];
  const told = textOf(withHidden);
  if ('error' in withHidden) {
    const kind = /^[\w ]+/.exec(told)?.[0] ?? 'unknown';
    counts.failed[kind] = (counts.failed[kind] ?? 0) + 1;
    if (notOurs.test(told)) return `the front-end let it through: ${told.slice(0, 300)}`;
  }
  if (told.includes(marker) || told.includes(marker.slice(4)))
    return `shows the marker: ${told.slice(0, 300)}`;
  const isStopped = /INTERRUPT|Out of Memory/.test(told + textOf(without));
  if ('error' in withHidden && quotesOurs.test(told) && told === textOf(await other.run(compiled)))
    return undefined;
  // Of two faults of a query, either may come first.
  const failBoth = 'error' in withHidden && 'error' in without;
  if (isStopped || failBoth || isRandom.test(sql) || told === textOf(without)) return undefined;
  return `differs: ${told.slice(0, 300)} | ${textOf(without).slice(0, 300)}`;
}

/** Rows, and elements of arrays, in any order: only a query's own ORDER BY would give them one. */
function textOf(outcome: Outcome): string {
  if ('error' in outcome) return outcome.error;
  return outcome.rows
    .map(row => JSON.stringify(JSON.parse(row, inOneOrder)))
    .toSorted()
    .join('\n');
}

function inOneOrder(_key: string, value: unknown): unknown {
  if (!Array.isArray(value)) return value;
  return value.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
}
