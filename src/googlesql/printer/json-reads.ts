import type { BoundJsonValue } from '../tree/bound-tree.ts';
import { quoteText } from '../tree/quote-text.ts';

/** A path of JSON_VALUE with what else tells whether DuckDB's reader may follow it. */
type JsonPath = Pick<BoundJsonValue, 'path' | 'passed' | 'positions'>;

/**
 * The JSON texts of a statement that columns hold, and what is read of each: it is read once, for all paths together, where its
 * table stands in FROM. One more path costs a tenth of another reading.
 */
export type JsonReads = {
  /** A table of FROM under its alias, with what is read of its texts. Known is what an earlier print has asked for. */
  source(sql: string, alias: string): string;
  /**
   * Asks for a path.
   * @param text DuckDB text
   * @returns where the JSON at that path will be; undefined where the text is no column of a table in FROM
   */
  ask(text: string, path: JsonPath): string | undefined;
  /** Whether anything was asked for. */
  isEmpty(): boolean;
};

type TextRead = {
  readonly text: string;
  /** The column of what is read. */
  readonly name: string;
  readonly paths: Map<string, JsonPath & { readonly position: number }>;
};

/** A column, or a field in its records: `r1.event_message`, `((r1."metadata")."request")."url"`. */
const columnText = /^\(*(r\d+)\.(?:"(?:[^"]|"")*"|\w+)(?:\)\.(?:"(?:[^"]|"")*"|\w+))*$/;

export function createJsonReads(): JsonReads {
  const sources = new Set<string>();
  const reads = new Map<string, Map<string, TextRead>>();
  return {
    source(sql, alias) {
      sources.add(alias);
      const texts = [...(reads.get(alias)?.values() ?? [])];
      if (texts.length === 0) return `${sql} as ${alias}`;
      const columns = texts.map(
        ({ text, paths, name }) => `${printJsonRead(text, [...paths.values()])} as ${name}`,
      );
      const read = `(select ${alias}.*, ${columns.join(', ')} from ${sql} as ${alias}) as ${alias}`;
      // An element is named several times, and each name is planned.
      const elements = texts.flatMap(({ paths, name }) =>
        paths.size === 1
          ? []
          : [...paths.values()].map(
              ({ position }) =>
                `list_extract(${alias}.${name}, ${position}) as ${elementName(name, position)}`,
            ),
      );
      if (elements.length === 0) return read;
      return `(select ${alias}.*, ${elements.join(', ')} from ${read}) as ${alias}`;
    },
    ask(text, path) {
      const alias = columnText.exec(text)?.[1];
      if (alias === undefined || !sources.has(alias)) return undefined;
      const texts = reads.get(alias) ?? new Map<string, TextRead>();
      reads.set(alias, texts);
      // No column of a table has a space in its name.
      const read = texts.get(text) ?? { text, name: `"json ${texts.size}"`, paths: new Map() };
      texts.set(text, read);
      const position = read.paths.get(path.path)?.position ?? read.paths.size + 1;
      read.paths.set(path.path, { ...path, position });
      return `${alias}.${read.paths.size === 1 ? read.name : elementName(read.name, position)}`;
    },
    isEmpty: () => reads.size === 0,
  };
}

const elementName = (name: string, position: number) => `${name.slice(0, -1)} ${position}"`;

/**
 * The values that some paths lead to, as JSON: a list of them, and each is `!` in a text in which DuckDB's reader might find something
 * else than BigQuery's. For one path no list, which would cost a third of the reading.
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

/** Escapes that the two read differently; then also those that may hide a name from a search for it: what Go writes so is none. */
const halfPairs = String.raw`(?i)\\u(?:d[89a-f]|0000)`;
const hiddenAscii = String.raw`(?i)\\u(?:d[89a-f]|00(?:00|2d|3\d|[4-7]))`;
const anyEscape = String.raw`\\u`;
