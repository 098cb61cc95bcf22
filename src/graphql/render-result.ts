import { GatewayError } from '../base/errors.ts';
import { keptDigits } from '../base/json.ts';
import type { OperationBudget } from './operation-budget.ts';
import { RowText } from './read-rows.ts';

/** Levels that are written member by member: data, field, list of rows, row. Values below are written in one piece. */
const maxDepth = 4;

/** Characters that are buffered before they become bytes. */
const blockLength = 64 * 1024;

/**
 * Writes the result of an operation as JSON, a large one in slices.
 * @throws GatewayError `result_too_large`, as soon as the limit is exceeded
 */
export async function renderResult(result: unknown, budget: OperationBudget): Promise<Buffer> {
  if (budget.isSmall()) return Buffer.from(stringify(result));
  const blocks: Buffer[] = [];
  let text = '';
  const flush = () => {
    const block = Buffer.from(text);
    budget.addWritten(block.length);
    blocks.push(block);
    text = '';
  };
  for (const piece of pieces(result, 0)) {
    text += piece;
    if (text.length >= blockLength) flush();
    while (budget.turns.isOver()) await budget.turns.next();
  }
  flush();
  return Buffer.concat(blocks);
}

/** The JSON text of a value, piece by piece; members without a JSON form are left out, as JSON.stringify does. */
function* pieces(value: unknown, depth: number): Generator<string> {
  if (depth >= maxDepth || !isContainer(value)) {
    yield stringify(value);
    return;
  }
  const isList = Array.isArray(value);
  let before = isList ? '[' : '{';
  for (const [key, member] of Object.entries(value)) {
    if (!isList && (member === undefined || typeof member === 'function')) continue;
    yield isList ? before : `${before}${JSON.stringify(key)}:`;
    yield* pieces(member, depth + 1);
    before = ',';
  }
  if (before !== ',') yield before;
  yield isList ? ']' : '}';
}

/** Whether a value is written member by member; errors and exact integers have a `toJSON` of their own. */
function isContainer(value: unknown): value is object {
  return (
    typeof value === 'object' && value !== null && !('toJSON' in value) && keptDigits(value) === undefined
  );
}

function stringify(value: unknown): string {
  if (value instanceof RowText) return value.text;
  try {
    return JSON.stringify(value) ?? 'null';
  } catch (thrown) {
    // JSON.stringify recurses for each level; JSON.parse, which read the value, does not.
    if (!(thrown instanceof RangeError)) throw thrown;
    throw new GatewayError('result_too_large', 'A JSON value of the result is nested too deeply');
  }
}
