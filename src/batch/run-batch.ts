import { bindBatch, isPlain } from '../endpoints/bind-batch.ts';
import type { Statement } from '../engine/engine.ts';
import { type ErrorCode, type GatewayError, toGatewayError } from '../errors.ts';
import type { ResultSet } from '../rows.ts';
import { batchValueOf, type EndpointQuery, statementOf } from './endpoint-query.ts';
import { splitRows } from './split-rows.ts';

/** Runs one statement on the engine; throws what the engine throws. */
export type RunStatement = (statement: Statement, signal: AbortSignal) => Promise<ResultSet>;

/** Values of one run: its result has at most a million rows, and RE2 and the warehouse bound the text of parameters. */
const limits = { values: 1000, characters: 64 * 1024, patterns: 50, rows: 1_000_000 };

/**
 * Answers queries of one batch group, in as few runs as the limits allow. A run that fails for what is in it is cut in halves
 * until the fault is alone: it gets its own error, the others their rows.
 * @param queries of which `batchGroupOf` is one and the same
 * @returns in their order
 */
export async function runBatch(
  run: RunStatement,
  queries: readonly EndpointQuery[],
  signal: AbortSignal,
): Promise<(ResultSet | GatewayError)[]> {
  const byValue = new Map(queries.map(query => [batchValueOf(query)!, query]));
  const answers = new Map<string, ResultSet | GatewayError>();
  for (const part of partsOf([...byValue.values()])) await answerPart(part);
  return queries.map(query => answers.get(batchValueOf(query)!)!);

  async function answerPart(part: readonly EndpointQuery[]): Promise<void> {
    try {
      const rows = await runPart(run, part, signal);
      part.forEach((query, at) => {
        answers.set(batchValueOf(query)!, rows[at]!);
      });
    } catch (thrown) {
      const error = toGatewayError(thrown);
      if (part.length > 1 && isOfItsContent(error.code)) {
        const half = Math.ceil(part.length / 2);
        await answerPart(part.slice(0, half));
        await answerPart(part.slice(half));
        return;
      }
      for (const query of part) answers.set(batchValueOf(query)!, error);
    }
  }
}

/** Whether fewer values in one run may fare better: not where the engine is away, or nobody waits. */
function isOfItsContent(code: ErrorCode): boolean {
  return !['cancelled', 'unavailable', 'overloaded', 'deadline_exceeded'].includes(code);
}

async function runPart(
  run: RunStatement,
  part: readonly EndpointQuery[],
  signal: AbortSignal,
): Promise<ResultSet[]> {
  const first = part[0]!;
  const { definition, parameters } = first;
  const { batch, name: endpoint, maxRows } = definition;
  // One query alone is no batch: its own form is as good, and its error is its own.
  if (!batch || part.length === 1) return [await run(statementOf(first), signal)];
  const values = part.map(query => batchValueOf(query)!);
  const statement = {
    endpoint,
    sql: batch.sql,
    parameters: bindBatch(definition, values, parameters),
    maxRows: values.length * maxRows,
  };
  return splitRows(await run(statement, signal), values, maxRows);
}

/** Cuts queries into parts of one run each. */
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
