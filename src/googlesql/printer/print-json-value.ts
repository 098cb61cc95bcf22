import type { BoundCall, BoundExpression, BoundJsonValue } from '../tree/bound-tree.ts';
import { letIn } from '../tree/let-in.ts';
import { quoteText } from '../tree/quote-text.ts';
import { scalar } from '../tree/types.ts';
import { printJsonRead } from './json-reads.ts';
import type { Printer } from './printer.ts';

/** Prints JSON_VALUE by DuckDB's own reader, with `bq_read_json_value` behind it for texts in which that may find something else. */
export function printJsonValue(printer: Printer, value: BoundJsonValue): string {
  const { of, steps } = value;
  // Another text may hold more calls of JSON_VALUE: printed twice at each level, it would double with each.
  const text = isColumn(of) ? printer.expression(printer, of) : undefined;
  const asked = text === undefined ? undefined : printer.jsonReads.ask(text, value);
  if (!asked)
    return printer.expression(
      printer,
      letIn(of, named => readAlone(named, value)),
    );
  const { list, position } = asked;
  return `bq_json_scalar(list_extract(${list}, ${position}), ${list}, ${text}, ${quoteText(steps)})`;
}

/** Whether a text is a column's, or a field's of records in a column. */
function isColumn(text: BoundExpression): boolean {
  let at = text;
  while (at.kind === 'field') at = at.of;
  return at.kind === 'column';
}

/** The same for a text that is calculated, or an element of an array. */
function readAlone(text: BoundExpression, value: BoundJsonValue): BoundExpression {
  const call = (template: string, values: readonly BoundExpression[]): BoundCall => ({
    kind: 'call',
    type: scalar('STRING'),
    name: 'JSON_VALUE',
    template,
    arguments: values,
  });
  return letIn(call(printJsonRead('$1', [value]), [text]), list =>
    call(`bq_json_scalar(list_extract($1, 1), $1, $2, ${quoteText(value.steps)})`, [list, text]),
  );
}
