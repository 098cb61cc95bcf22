import { type BoundExpression, type BoundFrom, call } from '../tree/bound-tree.ts';
import { quoteName } from '../tree/quote-text.ts';
import { onlyOnWarehouse, startOfText } from '../tree/sql-error.ts';
import { isPresent } from './print-storage.ts';
import { aliasesIn, columnKey, type Printer, subsetName } from './printer.ts';
import { type Lateral, lateralOf, lateralUnnestOf, unionOf } from './rewrite-joins.ts';

/** A printed FROM clause: its text, undefined for an array that needs no scan; the conditions on its rows; the columns of its relations. */
export type PrintedFrom = {
  readonly sql: string | undefined;
  readonly filters: readonly string[];
  /** Keys of columns, one list for each scan: a chain of joins shares the lists of the joins before it. */
  readonly keys: readonly (readonly string[])[];
  /** Whether the text is a join, which needs parentheses as the right side of another. */
  readonly isJoin?: boolean | undefined;
};

/** Maximum characters of the text of one element; ten nested records take a few hundred. */
const maxElementLength = 20_000;

/** Maximum depth of nested FULL JOINs that are printed as queries: each prints its sides twice. */
const maxUnionDepth = 4;

type Unnest = Extract<BoundFrom, { kind: 'unnest' }>;
type Join = Extract<BoundFrom, { kind: 'join' }>;

/** Prints a FROM clause and notes the place of every column that it brings. */
export function printFrom(printer: Printer, from: BoundFrom): PrintedFrom {
  switch (from.kind) {
    case 'table': {
      printer.usedTables.add(from.table.name);
      const names = from.table.columns.map(column => quoteName(column.name));
      return printSource(printer, from.relation, quoteName(from.table.name), names);
    }
    case 'subset': {
      const { id, query } = from.subset;
      printer.usedSubsets.set(id, (printer.usedSubsets.get(id) ?? 0) + 1);
      return printSource(
        printer,
        from.relation,
        subsetName(id),
        query.columns.map((_, i) => `c${i}`),
      );
    }
    case 'derived': {
      const sql = printer.query(printer, from.query, { keepsOrder: false });
      return printSource(
        printer,
        from.relation,
        `(${sql})`,
        from.query.columns.map((_, i) => `c${i}`),
      );
    }
    case 'join':
      return printJoin(printer, from);
    case 'unnest':
      return printUnnest(printer, from);
  }
}

function printSource(
  printer: Printer,
  relation: number,
  sql: string,
  columns: readonly string[],
): PrintedFrom {
  const alias = printer.newAlias();
  const keys = columns.map((column, index) => {
    const key = columnKey(relation, index);
    printer.references.set(key, `${alias}.${column}`);
    return key;
  });
  return { sql: printer.jsonReads.source(sql, alias), filters: [], keys: [keys] };
}

function printJoin(printer: Printer, from: Join): PrintedFrom {
  const lateral = lateralOf(from);
  if (lateral) return printLateral(printer, lateral);
  const union = unionOf(from);
  if (union) {
    const unionDepth = printer.unionDepth + 1;
    if (unionDepth > maxUnionDepth) throw new RangeError('FULL JOINs nested too deep');
    const { sql, keys } = printRows({ ...printer, unionDepth }, union);
    return { sql, filters: [], keys: [keys] };
  }
  const isInner = from.join === 'CROSS' || from.join === 'INNER';
  let left = printFrom(printer, from.left);
  let right = printFrom(printer, from.right);
  // A filter belongs to its side: above an outer join it would drop the rows that the join keeps.
  if (!isInner && (right.filters.length > 0 || !right.sql)) right = closedFrom(printer, right);
  const keepsRight = from.join === 'RIGHT' || from.join === 'FULL';
  if ((keepsRight && left.filters.length > 0) || (!isInner && !left.sql)) left = closedFrom(printer, left);
  let on: string | undefined;
  if (from.on && isInner) on = printer.expression(printer, from.on);
  else if (from.on) ({ left, right, on } = printOuterOn(printer, from.on, { left, right, join: from.join }));
  const keys = [...left.keys, ...right.keys];
  const filters = [...left.filters, ...right.filters];
  if (!left.sql || !right.sql) {
    const { sql, isJoin } = left.sql ? left : right;
    return { sql, isJoin, filters: on ? [...filters, on] : filters, keys };
  }
  const nested = right.isJoin ? `(${right.sql})` : right.sql;
  const sql = on
    ? `${left.sql} ${from.join.toLowerCase()} join ${nested} on ${on}`
    : `${left.sql} cross join ${nested}`;
  return { sql, isJoin: true, filters, keys };
}

/** DuckDB's outer joins accept no subquery over both sides in ON; a lateral join does. */
function printLateral(printer: Printer, { kept, ...rows }: Lateral): PrintedFrom {
  const given = printFrom(printer, kept);
  const input = given.sql ? given : closedFrom(printer, given);
  const { sql, keys } = printRows(printer, rows);
  return {
    sql: `${input.sql} left join lateral ${sql} on true`,
    isJoin: true,
    filters: input.filters,
    keys: [...input.keys, keys],
  };
}

/** A query in FROM whose columns replace those of the relations inside it. */
function printRows(
  printer: Printer,
  { query, columns }: Omit<Lateral, 'kept'>,
): { readonly sql: string; readonly keys: readonly string[] } {
  // A side may be printed twice, and conditions may imply its records in only one of the copies.
  const inside = { ...printer, impliedRelations: new Set(printer.impliedRelations) };
  const sql = printer.query(inside, query, { keepsOrder: false });
  const alias = printer.newAlias();
  const keys = columns.map(({ relation, index }) => columnKey(relation, index));
  for (const [i, key] of keys.entries()) printer.references.set(key, `${alias}.c${i}`);
  return { sql: `(${sql}) as ${alias}`, keys };
}

/**
 * Prints the ON of an outer join. A value that must become a column is added to the side that it reads, or else to the side that keeps all
 * its rows.
 */
function printOuterOn(
  printer: Printer,
  condition: BoundExpression,
  { left, right, join }: { left: PrintedFrom; right: PrintedFrom; join: Join['join'] },
): { left: PrintedFrom; right: PrintedFrom; on: string } {
  const sides = [left, right];
  const on = printOn(printer, condition, texts => {
    const aliases = sides.map(({ keys }) => {
      const columns = keys.flat();
      printer.count(columns.length);
      const all = new Set(columns.flatMap(key => [...aliasesIn(printer.references.get(key)!)]));
      return [...all].filter(alias => !printer.readsOuterQuery(alias));
    });
    const sideOf = (text: string): number => {
      const read = aliasesIn(text);
      const found = [0, 1].filter(side => aliases[side]!.some(alias => read.has(alias)));
      // Through the name of a value; any other such join is rewritten by `lateralOf`.
      if (found.length > 1)
        throw onlyOnWarehouse('A subquery of both sides in the ON of an outer join', startOfText);
      return found[0] ?? (join === 'RIGHT' ? 1 : 0);
    };
    const names = new Map<string, string>();
    for (const [side, own] of Map.groupBy(texts, sideOf)) {
      const [scan, ...columns] = nameTexts(printer, sides[side]!, ...own);
      sides[side] = scan;
      for (const [i, text] of own.entries()) names.set(text, columns[i]!);
    }
    return names;
  });
  return { left: sides[0]!, right: sides[1]!, on };
}

/**
 * Prints an ON with names in place of subqueries and of columns of enclosing queries: DuckDB's outer joins and lambdas accept neither.
 * @param name makes columns of such texts and returns their names
 */
function printOn(
  printer: Printer,
  condition: BoundExpression,
  name: (texts: readonly string[]) => ReadonlyMap<string, string>,
): string {
  const texts = new Map<unknown, string>();
  const print = (lift: (value: BoundExpression) => string) =>
    printer.expression({ ...printer, let: { names: new Map(), lift } }, condition);
  const plain = print(value => {
    const text = printer.expression(printer, value);
    texts.set(identityOf(value), text);
    return text;
  });
  if (texts.size === 0) return plain;
  const names = name([...new Set(texts.values())]);
  return print(value => names.get(texts.get(identityOf(value))!)!);
}

/** Identifies a value across printings, which may create columns and the nodes around a query again. */
function identityOf(value: BoundExpression): unknown {
  if (value.kind === 'subquery' || value.kind === 'inQuery') return value.query;
  return value.kind === 'column' ? columnKey(value.relation, value.index) : value;
}

/**
 * A single record is its own element: it needs no scan, only a test of its presence unless other conditions imply it. A list of a row becomes
 * an unnest in a select list rather than a join: filters are pushed through that, and DuckDB would join the table with itself. A list that
 * reads no row is a relation of its own, so that it is made once.
 */
function printUnnest(printer: Printer, from: Unnest): PrintedFrom {
  const isSingle = from.array.type.kind === 'ARRAY' && from.array.type.single;
  const lateral = isSingle ? undefined : lateralUnnestOf(from);
  if (lateral) return printLateral(printer, lateral);
  const input: PrintedFrom = from.input ? printFrom(printer, from.input) : noRelation;
  const array = printer.expression(printer, from.array);
  if (isSingle) return singleElement(printer, from, input, array);
  if (from.outer || aliasesIn(array).size > 0) return listElements(printer, from, input, array);
  const varying = unfolded(from.array);
  const own = listElements(printer, from, noRelation, varying ? printer.expression(printer, varying) : array);
  return {
    sql: input.sql ? `${input.sql} cross join ${own.sql}` : own.sql,
    isJoin: input.sql !== undefined,
    filters: [...input.filters, ...own.filters],
    keys: [...input.keys, ...own.keys],
  };
}

const noRelation: PrintedFrom = { sql: undefined, filters: [], keys: [] };

/** Functions that make long lists of short arguments. */
const generators = new Set(['GENERATE_ARRAY', 'GENERATE_DATE_ARRAY', 'GENERATE_TIMESTAMP_ARRAY', 'SPLIT']);

/**
 * A call of these as one that DuckDB makes while the statement runs; undefined for any other list. DuckDB calculates calls of constants while it prepares a statement, which no interrupt ends,
 * and a list of a million elements, each of them an object, takes 150 ms and more (decision 180).
 */
function unfolded(array: BoundExpression): BoundExpression | undefined {
  if (array.kind !== 'call' || !generators.has(array.name)) return undefined;
  const [first, ...others] = array.arguments;
  return first && { ...array, arguments: [call('', 'bq_varying($1)', [first], first.type), ...others] };
}

function singleElement(printer: Printer, from: Unnest, input: PrintedFrom, array: string): PrintedFrom {
  const keys = [columnKey(from.relation, 0), columnKey(from.relation, 1)] as const;
  const present = isPresent(array, from.array.type);
  printer.references.set(keys[0], array);
  printer.references.set(keys[1], `(case when ${present} then cast(0 as bigint) end)`);
  const on = from.on && printer.expression(printer, from.on);
  if (on && from.outer) {
    // The element's text is repeated wherever it is named, so nested conditions would multiply.
    if (on.length + array.length > maxElementLength) throw new RangeError('Array element too large');
    printer.references.set(keys[0], `(case when ${on} then ${array} end)`);
    printer.references.set(keys[1], `(case when ${present} and ${on} then cast(0 as bigint) end)`);
  }
  const tests = printer.impliedRelations.has(from.relation) ? [] : [present];
  const filters = from.outer ? input.filters : [...input.filters, ...tests, ...(on ? [on] : [])];
  return { ...input, filters, keys: [...input.keys, from.withOffset ? keys : [keys[0]]] };
}

function listElements(printer: Printer, from: Unnest, given: PrintedFrom, text: string): PrintedFrom {
  const value = columnKey(from.relation, 0);
  const offset = columnKey(from.relation, 1);
  const isReadTwice = from.withOffset || (from.outer && from.on);
  let [scan, array] = isReadTwice ? nameTexts(printer, given, text) : ([given, text] as const);
  let offsets = `range(len(${array}))`;
  let elements = array;
  if (from.outer && from.on) {
    const position = printer.newAlias();
    const elementAt = (list: string) => `list_extract(${list}, ${position} + 1)`;
    printer.references.set(value, elementAt(array));
    printer.references.set(offset, position);
    const on = printOn(printer, from.on, texts => {
      if (texts.some(lifted => aliasesIn(lifted).has(position)))
        throw onlyOnWarehouse('LEFT JOIN UNNEST with a subquery of the element in its ON', startOfText);
      const [wider, list, ...names] = nameTexts(printer, scan, array, ...texts);
      [scan, array] = [wider, list];
      offsets = `range(len(${array}))`;
      printer.references.set(value, elementAt(array));
      return new Map(texts.map((lifted, i) => [lifted, names[i]!]));
    });
    const filtered = `list_filter(${offsets}, lambda ${position}: ${on})`;
    [scan, array, offsets] = nameTexts(printer, scan, array, filtered);
    elements = `list_transform(${offsets}, lambda ${position}: ${elementAt(array)})`;
  }
  const padded = (list: string) => (from.outer ? `coalesce(nullif(${list}, []), [null])` : list);
  const columns = [
    { key: value, sql: `unnest(${padded(elements)})` },
    ...(from.withOffset ? [{ key: offset, sql: `unnest(${padded(offsets)})` }] : []),
  ];
  const unnested = closedFrom(printer, scan, columns);
  const on = from.on && !from.outer ? [printer.expression(printer, from.on)] : [];
  return { ...unnested, filters: on };
}

/**
 * Gives names to texts that are read more than once, by closing the FROM clause with them as columns: they may be long, and contain one
 * another.
 * @returns the FROM clause, and the names of the texts in it
 */
function nameTexts<Texts extends string[]>(
  printer: Printer,
  input: PrintedFrom,
  ...texts: Texts
): [PrintedFrom, ...Texts] {
  const lists = texts.map(sql => ({ key: printer.newAlias(), sql }));
  const scan = closedFrom(printer, input, lists);
  const names = lists.map(({ key }) => printer.references.get(key)!) as Texts; // as many as texts
  return [{ ...scan, keys: input.keys }, ...names];
}

/** Makes a derived table of a FROM clause, with its filters inside and further columns; every column moves into it. */
export function closedFrom(
  printer: Printer,
  input: PrintedFrom,
  added: readonly { key: string; sql: string }[] = [],
): PrintedFrom {
  const alias = printer.newAlias();
  const kept = input.keys.flat().map(key => ({ key, sql: printer.references.get(key)! }));
  const columns = [...kept, ...added];
  // In a chain of UNNESTs, each derived table repeats all columns before it.
  printer.count(columns.length);
  const list = columns.map(({ sql }, i) => `${sql} as c${i}`).join(', ') || '1';
  const source = input.sql ? ` from ${input.sql}` : '';
  const where = input.filters.length > 0 ? ` where ${input.filters.join(' and ')}` : '';
  for (const [i, { key }] of columns.entries()) printer.references.set(key, `${alias}.c${i}`);
  const keys = columns.map(column => column.key);
  return {
    sql: printer.jsonReads.source(`(select ${list}${source}${where})`, alias),
    filters: [],
    keys: [keys],
  };
}
