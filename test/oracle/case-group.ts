import type { WireValue } from './wire-values.ts';

/** Statements by what becomes of them; a scalar expression is short for `select … as v`. */
export type CaseGroup = {
  /** Both engines give the same columns and rows. */
  readonly same: readonly string[];
  /** Both engines refuse the statement, or fail while it runs. */
  readonly fail?: readonly string[];
  /** Either of the two: what a table of combinations gives. */
  readonly agree?: readonly string[];
  /** BigQuery answers, our front-end refuses by name: a wrong answer would be worse. */
  readonly refused?: readonly string[];
  /** The reference lacks the function: the rows as BigQuery's documentation has them. */
  readonly answered?: readonly (readonly [sql: string, rows: readonly (readonly WireValue[])[]])[];
};

/** Whether a case is a scalar expression. */
export function isExpression(text: string): boolean {
  return !/^\s*(select|with)\b/i.test(text) && !/^\(select.*\)\s*(union|except|intersect)/i.test(text);
}

/** The statement that a case stands for. */
export function statementOf(text: string): string {
  return isExpression(text) ? `select ${text} as v` : text;
}
