import { type BoundExpression, type BoundJsonValue, call } from '../tree/bound-tree.ts';
import { letIn } from '../tree/let-in.ts';
import { quoteText } from '../tree/quote-text.ts';
import { scalar } from '../tree/types.ts';
import { printJsonRead } from './json-reads.ts';
import type { Printer } from './printer.ts';

/** Prints JSON_VALUE with DuckDB's own reader, and with `bq_read_json_value` for texts in which that may find another value. */
export function printJsonValue(printer: Printer, value: BoundJsonValue): string {
  const { of } = value;
  const read = printRead(printer, value, 'bq_json_scalar');
  // A calculated text may contain further calls of JSON_VALUE: printed twice, it would double at each level.
  if (read !== undefined) return read;
  return printer.expression(
    printer,
    letIn(of, named => readAlone(named, value)),
  );
}

/**
 * Prints JSON_VALUE cast to a number: a number in JSON need not become a text first.
 * @returns undefined if the type or the text does not allow that
 */
export function printJsonNumber(
  printer: Printer,
  { of, type, safe }: Extract<BoundExpression, { kind: 'cast' }>,
): string | undefined {
  if (of.kind !== 'jsonValue' || (type.kind !== 'INT64' && type.kind !== 'FLOAT64')) return undefined;
  return printRead(printer, of, `${safe ? 'bq_safe' : 'bq'}_json_text_${type.kind.toLowerCase()}`);
}

/** Passes the value read for a path to a macro; undefined for a text that is in no column. */
function printRead(printer: Printer, value: BoundJsonValue, macro: string): string | undefined {
  if (!isColumn(value.of)) return undefined;
  const text = printer.expression(printer, value.of);
  const read = printer.jsonReads.ask(text, value, { isCondition: printer.isCondition ?? false });
  return read && `${macro}(${read}, ${text}, ${quoteText(value.steps)})`;
}

/** Whether a text is a column's, or a field's of records in a column. */
function isColumn(text: BoundExpression): boolean {
  let at = text;
  while (at.kind === 'field') at = at.of;
  return at.kind === 'column';
}

/** JSON_VALUE of a calculated text or of an array's element. */
function readAlone(text: BoundExpression, value: BoundJsonValue): BoundExpression {
  const type = scalar('STRING');
  return letIn(call('JSON_VALUE', printJsonRead('$1', [value]), [text], type), read =>
    call('JSON_VALUE', `bq_json_scalar($1, $2, ${quoteText(value.steps)})`, [read, text], type),
  );
}
