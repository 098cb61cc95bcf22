import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { forBigQuery, notInBigQuery } from './not-in-bigquery.ts';
import { readsDefaultZone, withoutTexts } from './sql-text.ts';
import type { SuiteCase } from './suite-case.ts';

/** Pages about what BigQuery lacks, or about statements that are no queries. */
const skippedPages =
  /^(aggregate-dp|data-definition|data-manipulation|debugging|differential-privacy|geography|graph|privileges|procedural|protocol|security|sketches|table-functions|transactions|user-defined|utility|variables|functions-and-operators)/;

/** Every query of GoogleSQL's documentation that is followed by its result as a drawn table. */
export function readDocumentation(checkout: string): SuiteCase[] {
  const folder = join(checkout, 'docs');
  return readdirSync(folder)
    .filter(name => name.endsWith('.md') && !skippedPages.test(name))
    .sort()
    .flatMap(name => readPage(`docs/${name}`, readFileSync(join(folder, name), 'utf8')));
}

export function readPage(page: string, text: string): SuiteCase[] {
  const cases: SuiteCase[] = [];
  /** Subsets of earlier examples: later ones of the page read them. */
  const known = new Map<string, string>();
  for (const block of text.matchAll(/^```(?:googlesql|sql|zetasql)([^\n]*)\n([\s\S]*?)^```/gm)) {
    if (block[1]!.includes('.bad')) continue;
    const body = forBigQuery(block[2]!);
    const line = text.slice(0, block.index).split('\n').length + 1;
    let sqlStart = 0;
    for (const drawn of body.matchAll(/\/\*\s*[-+][\s\S]*?\*\//g)) {
      const sql = body.slice(sqlStart, drawn.index).trim();
      sqlStart = drawn.index + drawn[0].length;
      const table = readTable(drawn[0]);
      const at = `${page}:${line + body.slice(0, drawn.index).split('\n').length - 1}`;
      if (!table || sql === '') continue;
      cases.push(caseOf(at, sql, known, table));
      rememberSubsets(sql, known);
    }
    rememberSubsets(body.slice(sqlStart), known);
  }
  return cases;
}

function caseOf(at: string, sql: string, known: ReadonlyMap<string, string>, table: Drawn): SuiteCase {
  const statement = withKnownSubsets(sql, known);
  const code = withoutTexts(sql).replace(/;\s*$/, '');
  const skipped = code.includes(';')
    ? 'several statements'
    : /\b(rand|generate_uuid|current_(date|datetime|time|timestamp)|session_user)\b/i.test(code)
      ? 'another answer each time'
      : /\.\.\.|\[ \.\.\. \]/.test(code)
        ? 'no whole query'
        : (undefinedTable(statement) ??
          notInBigQuery(sql, []) ??
          errata.find(([pattern]) => pattern.test(code))?.[1]);
  const expected = { kind: 'table', ...table } as const;
  // Pages show results in Los Angeles.
  const isOfOtherZone = readsDefaultZone(sql);
  return skipped
    ? { at, sql: statement, expected, tables: [], skipped }
    : { at, sql: statement, expected, tables: [], isOfOtherZone };
}

/** Examples whose drawn result is not that of the query, by their own page's rules. */
const errata: readonly (readonly [RegExp, string])[] = [
  [/\|>\s*extend\s+sum\(sales\)\s+over\s+item_window/i, 'a drawn result without a column that EXTEND keeps'],
  [/^\s*select\s+as\s+struct\s[^|]*\|>\s*distinct\s*$/i, 'a drawn result that is cut off'],
];

/** A page shows the rows of some tables only: their queries cannot run. */
function undefinedTable(statement: string): string | undefined {
  const code = withoutTexts(statement);
  const read = [...code.matchAll(/\b(?:from|join)\s+([A-Za-z_]\w*)\b(?!\s*[.(])/gi)].map(([, name]) => name!);
  const isDefined = (name: string) =>
    name.toLowerCase() === 'unnest' ||
    new RegExp(
      `\\b${name}\\s+as\\s*\\(|\\)\\s*(?:as\\s+)?${name}\\b|\\bas\\s+${name}\\b|\\bextract\\b`,
      'i',
    ).test(code);
  const missing = read.find(name => !isDefined(name));
  return missing && 'a table that its page does not define';
}

type Drawn = { readonly names: readonly string[]; readonly rows: readonly (readonly string[])[] };

/** A table drawn with `|`, `-` and `+`; undefined where there is none. */
export function readTable(drawn: string): Drawn | undefined {
  const lines = drawn
    .replace(/^\/\*/, '')
    .replace(/\*\/$/, '')
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '');
  const isBorder = (line: string) => /^[-+|\s*]*$/.test(line) && /--/.test(line);
  const groups: string[][] = [];
  let group: string[] = [];
  for (const line of lines) {
    if (isBorder(line)) {
      if (group.length > 0) groups.push(group);
      group = [];
    } else if (line.startsWith('|')) group.push(line);
  }
  if (group.length > 0) groups.push(group);
  const [header, ...bodies] = groups;
  if (header?.length !== 1) return undefined;
  const width = header[0]!.split('|').length;
  const cells = (line: string) => {
    const parts = line.split('|');
    // A bar within a value: only a table of one column shows which.
    const inner = width === 3 ? [parts.slice(1, -1).join('|')] : parts.slice(1, -1);
    return inner.map(cell => cell.trim());
  };
  const names = cells(header[0]!);
  const isRuled = bodies.length > 1;
  const rows = bodies.flatMap(lines => {
    const rowsOfLines = lines.map(cells);
    return isRuled || isArray(rowsOfLines) ? [merged(rowsOfLines)] : rowsOfLines;
  });
  return rows.every(row => row.length === names.length) ? { names, rows } : undefined;
}

/** One array, with a line for each of its elements. */
const isArray = (rows: readonly (readonly string[])[]): boolean =>
  rows.length > 2 && rows[0]!.join() === '[' && rows.at(-1)!.join() === ']';

/** Lines between two borders are one row. */
function merged(lines: readonly (readonly string[])[]): string[] {
  return lines[0]!.map((_, i) =>
    lines
      .map(line => line[i] ?? '')
      .join(' ')
      .replace(/, \]$/, ']')
      .trim(),
  );
}

/** Keeps `name AS (…)` of a WITH clause, or of CREATE TABLE, by its name. */
function rememberSubsets(sql: string, known: Map<string, string>): void {
  for (const made of sql.matchAll(/\bcreate\s+(?:or\s+replace\s+)?(?:temp\s+)?table\s+(\w+)\s+as\s*\(/gi)) {
    const open = made.index + made[0].length;
    const end = closing(sql, open);
    if (end !== undefined) known.set(made[1]!.toLowerCase(), `${made[1]} AS (${sql.slice(open, end)})`);
  }
  if (!/^\s*(?:(?:--|#)[^\n]*\n\s*)*with\b/i.test(sql)) return;
  const start = /\bwith(?:\s+recursive)?\b/i.exec(sql)!;
  let at = start.index + start[0].length;
  for (;;) {
    const head = /^\s*(?:(?:--|#)[^\n]*\n\s*)*([A-Za-z_]\w*)\s+as\s*\(/i.exec(sql.slice(at));
    if (!head) return;
    const open = at + head[0].length;
    const end = closing(sql, open);
    if (end === undefined) return;
    known.set(head[1]!.toLowerCase(), `${head[1]} AS (${sql.slice(open, end)})`);
    const comma = /^\s*,/.exec(sql.slice(end + 1));
    if (!comma) return;
    at = end + 1 + comma[0].length;
  }
}

/** Where the parenthesis that opened just before `from` is closed. */
function closing(sql: string, from: number): number | undefined {
  let depth = 1;
  for (const part of sql
    .slice(from)
    .matchAll(
      /(?:--|#)[^\n]*|\/\*[\s\S]*?\*\/|("""|''')[\s\S]*?\1|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|[()]/g,
    )) {
    if (part[0] === '(') depth += 1;
    if (part[0] === ')') depth -= 1;
    if (depth === 0) return from + part.index;
  }
  return undefined;
}

/** The query with the subsets of earlier examples that it names and does not define. */
function withKnownSubsets(sql: string, known: ReadonlyMap<string, string>): string {
  const code = withoutTexts(sql);
  const wanted: string[] = [];
  const collect = (text: string) => {
    for (const [name, definition] of known) {
      if (wanted.includes(name)) continue;
      const isRead = new RegExp(`\\b(from|join|,)\\s*\\(?\\s*${name}\\b`, 'i').test(text);
      const isDefined = new RegExp(`\\b${name}\\s+as\\s*\\(`, 'i').test(code);
      if (!isRead || isDefined) continue;
      collect(withoutTexts(definition));
      wanted.push(name);
    }
  };
  collect(code);
  if (wanted.length === 0) return sql;
  const list = wanted.map(name => known.get(name)).join(',\n');
  const own = /^\s*(?:(?:--|#)[^\n]*\n\s*)*with\s+(recursive\s+)?/i.exec(sql);
  return own ? `WITH ${own[1] ?? ''}${list},\n${sql.slice(own[0].length)}` : `WITH ${list}\n${sql}`;
}
