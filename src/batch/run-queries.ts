import { GatewayError, toGatewayError } from '../base/errors.ts';
import { stringEnd } from '../base/json.ts';
import { findRows, type Receipt, type ResultSet } from '../base/rows.ts';
import { takeTurns } from '../base/turns.ts';
import { bindBatch, isPlain } from '../endpoints/bind-batch.ts';
import type { EndpointDefinition } from '../endpoints/definition.ts';
import type { QueryParameter, RunOptions, Statement } from '../engine/engine.ts';

/** A saved query with its values, or a caller's SQL over its subsets. One cache entry answers one such query. */
export type EndpointQuery = {
  readonly definition: EndpointDefinition;
  /** One value for each declared parameter, in the header's order. */
  readonly parameters: readonly QueryParameter[];
  readonly callerSql: string | undefined;
};

/** How a query runs; the runner sets the time-out. */
export type QueryOptions = Omit<RunOptions, 'timeoutMs'> & {
  /** When its time began, as `performance.now()`; several runs for one query share it. Default: now. */
  readonly startedMs?: number;
};

/** Runs one statement on the engine; throws what the engine throws. */
export type RunStatement = (statement: Statement, options: QueryOptions) => Promise<ResultSet>;

/** Runs one query; throws what the engine throws. */
export type RunQuery = (query: EndpointQuery, options: QueryOptions) => Promise<ResultSet>;

/** Makes a runner that runs each query by itself. */
export function runSingly(run: RunStatement): RunQuery {
  return (query, options) => run(statementOf(query), options);
}

/** The query as a statement for the engine. */
export function statementOf({ definition, parameters, callerSql }: EndpointQuery): Statement {
  const { name: endpoint, sql, maxRows, window } = definition;
  return { endpoint, sql, callerSql, parameters, maxRows, window };
}

/** The query's value for the list parameter of the batch form; undefined if the query can't be part of a batch. */
export function batchValueOf({ definition, parameters, callerSql }: EndpointQuery): string | undefined {
  const { batch } = definition;
  if (!batch || callerSql !== undefined) return undefined;
  const value = parameters.find(({ name }) => name === batch.parameter)?.value;
  return typeof value === 'string' && !standsAlone.test(value) ? value : undefined;
}

/**
 * Matches patterns that may mean something else as part of an alternation: an unterminated quotation, a named group, and anchors
 * elsewhere than at the ends, which RE2 reads differently at the start of a pattern (`$^h` alone matches `https`).
 */
const standsAlone = /\\Q|\(\?P?<|(?<!^|\[)\^|\$(?!$)/;

/** Equal for queries that one run of a batch form can answer; undefined if the query can't be part of a batch. */
export function batchGroupOf(query: EndpointQuery): string | undefined {
  if (batchValueOf(query) === undefined) return undefined;
  const { definition, parameters } = query;
  const others = parameters.filter(({ name }) => name !== definition.batch?.parameter);
  return JSON.stringify([definition.hash, ...others.map(({ name, value }) => [name, value])]);
}

/** Maximum values of one run: its result has at most a million rows, and RE2 and the warehouse limit the length of parameters. */
const limits = { values: 1000, characters: 64 * 1024, patterns: 50, rows: 1_000_000 };

/**
 * Answers queries of one batch group, in as few runs as the limits allow. A run that fails because of one of its values is
 * bisected until that value is alone: it gets its own error, the others their rows. All runs share the time of one query.
 * @param queries with one and the same `batchGroupOf`
 * @returns in the order of the queries
 */
export async function runBatch(
  run: RunStatement,
  queries: readonly EndpointQuery[],
  { startedMs = performance.now(), ...others }: QueryOptions,
): Promise<(ResultSet | GatewayError)[]> {
  const options = { ...others, startedMs };
  const byValue = new Map(queries.map(query => [batchValueOf(query)!, query]));
  const answers = new Map<string, ResultSet | GatewayError>();
  for (const part of partsOf([...byValue.values()])) await answerPart(part);
  return queries.map(query => answers.get(batchValueOf(query)!)!);

  async function answerPart(part: readonly EndpointQuery[]): Promise<void> {
    try {
      const rows = await runPart(run, part, options);
      part.forEach((query, at) => {
        answers.set(batchValueOf(query)!, rows[at]!);
      });
    } catch (thrown) {
      const error = toGatewayError(thrown);
      if (part.length > 1 && !options.signal.aborted && mayDependOnValues(error)) {
        const half = Math.ceil(part.length / 2);
        await answerPart(part.slice(0, half));
        await answerPart(part.slice(half));
        return;
      }
      for (const query of part) answers.set(batchValueOf(query)!, error);
    }
  }
}

/** Whether a run of fewer values may succeed: not if the engine is unavailable or refuses every query, nor if no caller waits. */
function mayDependOnValues({ code, isSourceFailure }: GatewayError): boolean {
  const transientCodes = ['cancelled', 'unavailable', 'overloaded', 'too_many_requests', 'deadline_exceeded'];
  return !isSourceFailure && !transientCodes.includes(code);
}

async function runPart(
  run: RunStatement,
  part: readonly EndpointQuery[],
  options: QueryOptions,
): Promise<ResultSet[]> {
  const first = part[0]!;
  const { definition, parameters } = first;
  const { batch, name: endpoint, maxRows, window } = definition;
  // A single query runs in its own form, so that an error is about that form.
  if (!batch || part.length === 1) return [await run(statementOf(first), options)];
  const values = part.map(query => batchValueOf(query)!);
  const statement = {
    endpoint,
    sql: batch.sql,
    parameters: bindBatch(definition, values, parameters),
    // One more row of each value, to see whether its rows were cut off.
    maxRows: values.length * (maxRows + 1),
    window,
  };
  const result = await run(statement, options);
  // The rows of one value left no room for the others; a smaller run has room for each.
  if (result.isTruncated) {
    throw new GatewayError(
      'result_too_large',
      `The batch form of ${endpoint} does not bound the rows of a value`,
    );
  }
  const receipt = result.receipt && shareOf(result.receipt, values.length);
  const split = await splitRows(result, values, maxRows);
  return split.map(rows => ({ ...rows, receipt }));
}

/** The share of one answer in the cost of a run. */
function shareOf({ bytesProcessed, bytesBilled, slotMs, jobId }: Receipt, count: number): Receipt {
  const share = (whole: number | undefined) => whole && Math.ceil(whole / count);
  return {
    bytesProcessed: Math.ceil(bytesProcessed / count),
    bytesBilled: share(bytesBilled),
    slotMs: share(slotMs),
    jobId,
  };
}

/** Splits queries into parts of one run each. */
function partsOf(queries: readonly EndpointQuery[]): EndpointQuery[][] {
  const parts: EndpointQuery[][] = [];
  let room = { values: 0, characters: 0, patterns: 0, rows: 0 };
  for (const query of queries) {
    const value = batchValueOf(query)!;
    const isPattern = query.definition.parameters.some(
      ({ name, type }) => name === query.definition.batch?.parameter && type === 'regexp' && !isPlain(value),
    );
    const needs = {
      values: 1,
      characters: value.length,
      patterns: isPattern ? 1 : 0,
      rows: query.definition.maxRows,
    };
    const fits =
      needs.values <= room.values &&
      needs.characters <= room.characters &&
      needs.patterns <= room.patterns &&
      needs.rows <= room.rows;
    if (!fits) {
      parts.push([]);
      room = { ...limits };
    }
    parts.at(-1)!.push(query);
    room = {
      values: room.values - needs.values,
      characters: room.characters - needs.characters,
      patterns: room.patterns - needs.patterns,
      rows: room.rows - needs.rows,
    };
  }
  return parts;
}

/**
 * Gives each key its rows of a batch result, as the single query would have rendered them: without the key, in the batch's
 * order, at most `maxRows`. The text of the other columns is not parsed, so that no digit is lost. A result of a million rows takes
 * many turns of the event loop.
 * @param result its first column is the key: a STRING, an INT64 or a DATE
 * @param keys as canonical texts
 * @throws Error if a row has a key that was not asked for
 */
export async function splitRows(
  { columns, rowsJson }: ResultSet,
  keys: readonly string[],
  maxRows: number,
): Promise<ResultSet[]> {
  const turns = takeTurns();
  const rowsOf = new Map(keys.map(key => [key, [] as string[]]));
  const truncated = new Set<string[]>();
  const openingBytes = Buffer.byteLength(`{${JSON.stringify(columns[0]?.name)}:`);
  for (const { start, end } of findRows(rowsJson, 1)) {
    while (turns.isOver()) await turns.next();
    const keyStart = start + openingBytes;
    const isQuoted = rowsJson[keyStart] === quote;
    const keyEnd = isQuoted ? stringEnd(rowsJson, keyStart) : rowsJson.indexOf(',', keyStart);
    const written = rowsJson.toString('utf8', keyStart, keyEnd);
    // An integer is taken as text, with all its digits.
    const rows = rowsOf.get(isQuoted ? JSON.parse(written) : written);
    if (!rows) throw new Error(`The batch form gave a row of ${written}, which was not asked for`);
    // After the key comes the comma before the next column.
    if (rows.length < maxRows) rows.push(`{${rowsJson.toString('utf8', keyEnd + 1, end)}`);
    else truncated.add(rows);
  }
  const split: ResultSet[] = [];
  for (const key of keys) {
    while (turns.isOver()) await turns.next();
    const rows = rowsOf.get(key) ?? [];
    split.push({
      columns: columns.slice(1),
      rowsJson: Buffer.from(`[${rows.join(',')}]`),
      rowCount: rows.length,
      isTruncated: truncated.has(rows),
    });
  }
  return split;
}

const quote = 0x22;
