/** What an expression gives. `json` is a STRING with JSON in it, `clock` a TIME, `document` a JSON; the plurals are arrays. */
export type ValueKind =
  | 'int'
  | 'float'
  | 'numeric'
  | 'text'
  | 'bytes'
  | 'json'
  | 'bool'
  | 'time'
  | 'datetime'
  | 'date'
  | 'clock'
  | 'document'
  | 'ints'
  | 'floats'
  | 'texts';

/** The columns that expressions may name, by what they hold. */
export type ExpressionScope = Readonly<Record<ValueKind, readonly string[]>>;

export const noColumns: ExpressionScope = {
  int: [],
  float: [],
  numeric: [],
  text: [],
  bytes: [],
  json: [],
  bool: [],
  time: [],
  datetime: [],
  date: [],
  clock: [],
  document: [],
  ints: [],
  floats: [],
  texts: [],
};
