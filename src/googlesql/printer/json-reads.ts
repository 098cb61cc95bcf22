import type { BoundJsonValue } from '../tree/bound-tree.ts';
import { quoteText } from '../tree/quote-text.ts';

/** A path of JSON_VALUE, and what decides whether DuckDB's reader may follow it. */
type JsonPath = Pick<BoundJsonValue, 'path' | 'passed' | 'positions'>;

/**
 * The JSON texts in columns of a statement, and the paths that are read from them. A text is parsed once for all its paths, where its table
 * stands in FROM; a further path costs a tenth of another parse. The paths of conditions are read first, and the others only from the rows
 * that remain: DuckDB pushes a condition below columns that it does not name.
 */
export type JsonReads = {
  /** Prints a table of FROM under its alias, with the paths that an earlier printing asked for. */
  source(sql: string, alias: string): string;
  /**
   * Asks for a path.
   * @param text DuckDB text
   * @returns where the JSON at that path will be; undefined where the text is not a column of a table in FROM
   */
  ask(text: string, path: JsonPath, options: { isCondition: boolean }): string | undefined;
  /** Whether anything was asked for. */
  isEmpty(): boolean;
};

type TextRead = {
  readonly text: string;
  readonly isCondition: boolean;
  /** The column of the values. */
  readonly name: string;
  readonly paths: Map<string, JsonPath & { readonly position: number }>;
};

/** A column, or a field in its records: `r$1.event_message`, `((r$1."metadata")."request")."url"`. */
const columnText = /^\(*(r\$\d+)\.(?:"(?:[^"]|"")*"|\w+)(?:\)\.(?:"(?:[^"]|"")*"|\w+))*$/;

export function createJsonReads(): JsonReads {
  const sources = new Set<string>();
  const reads = new Map<string, TextRead[]>();
  return {
    source(sql, alias) {
      sources.add(alias);
      const texts = reads.get(alias) ?? [];
      const first = texts.filter(({ isCondition }) => isCondition);
      const others = texts.filter(({ isCondition }) => !isCondition);
      return withReads(withReads(`${sql} as ${alias}`, alias, first), alias, others);
    },
    ask(text, path, { isCondition }) {
      const alias = columnText.exec(text)?.[1];
      if (alias === undefined || !sources.has(alias)) return undefined;
      const texts = reads.get(alias) ?? [];
      reads.set(alias, texts);
      const ofText = texts.filter(read => read.text === text);
      const known =
        ofText.find(read => read.isCondition && read.paths.has(path.path)) ??
        ofText.find(read => read.isCondition === isCondition);
      // No column of a table has a space in its name.
      const read = known ?? { text, isCondition, name: `"json ${texts.length}"`, paths: new Map() };
      if (!known) texts.push(read);
      const position = read.paths.get(path.path)?.position ?? read.paths.size + 1;
      read.paths.set(path.path, { ...path, position });
      return `${alias}.${elementName(read.name, position)}`;
    },
    isEmpty: () => reads.size === 0,
  };
}

/** A table under its alias, with columns for what is read from its texts. */
function withReads(source: string, alias: string, texts: readonly TextRead[]): string {
  if (texts.length === 0) return source;
  const columns = texts.map(
    ({ text, paths, name }) => `${printJsonRead(text, [...paths.values()])} as ${name}`,
  );
  const read = `(select ${alias}.*, ${columns.join(', ')} from ${source}) as ${alias}`;
  // An element is used several times, and DuckDB plans each use.
  const elements = texts.flatMap(({ paths, name }) => {
    const value = `${alias}.${name}`;
    if (paths.size === 1) return [`${pinned(value)} as ${elementName(name, 1)}`];
    return [...paths.values()].map(
      ({ position }) => `list_extract(${value}, ${position}) as ${elementName(name, position)}`,
    );
  });
  return `(select ${alias}.*, ${elements.join(', ')} from ${read}) as ${alias}`;
}

/**
 * The value itself, in an expression that may fail: the cast, though only of NULL. DuckDB pushes a condition on a column below it and
 * repeats the column's expression for each use, but not if that may fail.
 */
const pinned = (value: string) => `coalesce(${value}, cast(cast(${value} as integer) as varchar))`;

const elementName = (name: string, position: number) => `${name.slice(0, -1)} ${position}"`;

/**
 * The values at some paths, as a list of JSON texts; each is `!` if DuckDB's reader might find other values in the text than BigQuery's.
 * One path gives its value alone: a list would add a third to the time.
 */
export function printJsonRead(text: string, paths: readonly JsonPath[]): string {
  const passed = new Set(paths.flatMap(path => path.passed));
  const positions = new Set(paths.flatMap(path => path.positions));
  const doubts = [
    ...[...passed].map(name => {
      const key = quoteText(`"${name}"`);
      return `contains(${text}, ${key}) and contains(substr(${text}, strpos(${text}, ${key}) + 1), ${key})`;
    }),
    ...[...positions].map(name => `contains(${text}, ${quoteText(`"${name}"`)})`),
  ];
  const names = [...passed, ...positions];
  const escapes = names.length === 0 ? halfPairs : names.every(isAscii) ? hiddenAscii : anyEscape;
  const sure = [
    `bq_json_plain(${text}, ${quoteText(escapes)})`,
    ...doubts.map(doubt => `not (${doubt})`),
  ].join(' and ');
  const quoted = paths.map(({ path }) => quoteText(path));
  if (quoted.length === 1) return `bq_json_read_one(${text}, ${sure}, ${quoted[0]})`;
  return `bq_json_read(${text}, ${sure}, [${quoted.join(', ')}], [${quoted.map(() => "'!'").join(', ')}])`;
}

const isAscii = (name: string) => /^[\x20-\x7e]*$/.test(name);

/**
 * Escapes that the two readers treat differently; then also those that may hide an ASCII name from a search, which those that Go writes do
 * not; then all.
 */
const halfPairs = String.raw`(?i)\\u(?:d[89a-f]|0000)`;
const hiddenAscii = String.raw`(?i)\\u(?:d[89a-f]|00(?:00|2d|3\d|[4-7]))`;
const anyEscape = String.raw`\\u`;
