/** A saved query in `GET /api/endpoints`; `docs/rest.md` describes it. */
export type Endpoint = {
  readonly name: string;
  readonly description: string;
  readonly path: string;
  readonly graphql: { readonly field: string; readonly sql_field?: string };
  readonly parameters: readonly Parameter[];
  readonly columns: readonly Column[];
  /** Absent if the token may send no SQL. */
  readonly subsets?: readonly Subset[];
  readonly limits: {
    readonly max_rows: number;
    readonly window?: { readonly start: string; readonly end: string; readonly default: string };
  };
  readonly cache: { readonly fresh_seconds: number };
};

export type Parameter = {
  readonly name: string;
  readonly type: string;
  readonly description: string;
  readonly required?: boolean;
  readonly repeated?: boolean;
  readonly values?: readonly string[];
  readonly default?: string | readonly string[];
  readonly examples?: readonly (string | readonly string[])[];
  readonly min?: string | number;
  readonly max?: string | number;
  readonly min_length?: number;
  readonly max_length?: number;
  readonly pattern?: string;
  /** The token fixes its value. */
  readonly fixed?: boolean;
};

export type Column = {
  readonly name: string;
  readonly type: string;
  readonly repeated?: boolean;
  /** Never NULL. */
  readonly required?: boolean;
  readonly mode?: string;
  readonly description?: string;
  readonly fields?: readonly Column[];
};

export type Subset = { readonly name: string; readonly columns: readonly Column[] };

/** Values of parameters as the form holds them; `sql` is the caller's own. */
export type Values = Readonly<Record<string, string | readonly string[]>>;

const numeric = new Set(['INT64', 'FLOAT64', 'NUMERIC', 'BIGNUMERIC']);
const temporal = new Set(['TIMESTAMP', 'DATETIME', 'DATE']);

export const isRepeated = ({ repeated, mode }: Column): boolean => repeated === true || mode === 'REPEATED';
export const isNumeric = (column: Column): boolean => numeric.has(column.type) && !isRepeated(column);
export const isTemporal = (column: Column): boolean => temporal.has(column.type) && !isRepeated(column);
export const isTime = ({ type, repeated }: Parameter): boolean =>
  ['timestamp', 'TIMESTAMP', 'DATETIME'].includes(type) && !repeated;

/** The parameters that bound the time of rows, if the endpoint has some. */
export function timeBounds({ parameters, limits }: Endpoint): { start?: string; end?: string } {
  if (limits.window) return limits.window;
  const named = (word: string) =>
    parameters.find(each => isTime(each) && new RegExp(`(^|_)${word}$`, 'i').test(each.name))?.name;
  return { start: named('start'), end: named('end') };
}
