import { readFileSync } from 'node:fs';
import { notInBigQuery } from './not-in-bigquery.ts';
import type { SuiteCase } from './suite-case.ts';

/** The queries of goccy/go-zetasqlite's `query_test.go` whose expected rows are plain literals of Go. */
export function readEmulatorSuite(path: string): SuiteCase[] {
  const text = readFileSync(path, 'utf8');
  const cases: SuiteCase[] = [];
  for (const found of text.matchAll(
    /name:\s*(?:"([^"]*)"|`([^`]*)`),\s*query:\s*(?:"((?:\\.|[^"\\])*)"|`([^`]*)`),\s*(args:[^\n]*)?([\s\S]*?)\n\t\t\},/g,
  )) {
    const [, name, otherName, quoted, raw, args, rest = ''] = found;
    const sql = raw ?? JSON.parse(`"${quoted}"`);
    const line = text.slice(0, found.index).split('\n').length;
    const at = `query_test.go:${line} ${name ?? otherName}`;
    const failure = /expectedErr:\s*(?:"((?:\\.|[^"\\])*)"|`([^`]*)`)/.exec(rest);
    const literal = /expectedRows:\s*\[\]\[\]interface\{\}\{([\s\S]*)\},?\s*$/.exec(rest)?.[1];
    const rows = literal === undefined ? [] : goRows(`{${literal}}`);
    const skipped =
      args || /@\w/.test(sql)
        ? 'parameters'
        : rows === undefined
          ? 'no literal rows'
          : notInBigQuery(sql, []);
    const expected = failure
      ? ({ kind: 'error', message: failure[1] ?? failure[2] ?? '' } as const)
      : ({ kind: 'table', names: [], rows: rows ?? [] } as const);
    cases.push({ at, sql, expected, tables: [], ...(skipped === undefined ? {} : { skipped }) });
  }
  return cases;
}

/** Go's literals as the cells of a drawn table; undefined where one of them is an expression. */
function goRows(literal: string): string[][] | undefined {
  let at = 0;
  const space = () => {
    at += /^(?:\s|\/\/[^\n]*\n)*/.exec(literal.slice(at))![0].length;
  };
  const list = (): (string | undefined)[] => {
    const items: (string | undefined)[] = [];
    at += 1;
    for (;;) {
      space();
      if (literal[at] === '}') {
        at += 1;
        return items;
      }
      items.push(value());
      space();
      if (literal[at] === ',') at += 1;
      else if (literal[at] !== '}') throw new Error('no list');
    }
  };
  const value = (): string | undefined => {
    space();
    const rest = literal.slice(at);
    const take = (pattern: RegExp) => {
      const found = pattern.exec(rest);
      if (found) at += found[0].length;
      return found;
    };
    if (take(/^\[\]map\[string\]interface\{\}(?=\{)/)) return `[${list().join(',')}]`;
    if (take(/^\[\](?:interface\{\}|\w+)(?=\{)/))
      return `[${list()
        .map(item => item ?? 'NULL')
        .join(',')}]`;
    const fields = take(/^map\[string\]interface\{\}\{/);
    if (fields) {
      const items: string[] = [];
      for (;;) {
        space();
        if (literal[at] === '}') {
          at += 1;
          return `{${items.join(',')}}`;
        }
        const key = /^"[^"]*":/.exec(literal.slice(at));
        if (!key) throw new Error('no map');
        at += key[0].length;
        items.push(value() ?? 'NULL');
        space();
        if (literal[at] === ',') at += 1;
      }
    }
    if (take(/^nil\b/)) return 'NULL';
    const number = take(/^(?:u?int(?:64|32)?|float64)\((-?[\d.e+-]+)\)/) ?? take(/^(-?\d[\d.e+-]*)/);
    if (number) return number[1]!;
    const inf = take(/^math\.Inf\((-?)\d*\)/);
    if (inf) return `${inf[1]}inf`;
    if (take(/^math\.NaN\(\)/)) return 'NaN';
    const flag = take(/^(?:true|false)\b/);
    if (flag) return flag[0];
    const stamp = take(/^createTimestampFormatFromString\("([^"]*)"\)/);
    if (stamp) return stamp[1]!;
    const text = take(/^"((?:\\.|[^"\\])*)"/);
    if (text) {
      try {
        return JSON.parse(text[0].replace(/\\x([0-9a-fA-F]{2})/g, '\\u00$1'));
      } catch {
        return undefined;
      }
    }
    const raw = take(/^`([^`]*)`/);
    if (raw) return raw[1]!;
    throw new Error('an expression');
  };
  try {
    const rows: string[][] = [];
    at = 1;
    for (;;) {
      space();
      if (literal[at] === '}' || at >= literal.length) return rows;
      if (literal[at] === ',') at += 1;
      else if (literal[at] === '{') rows.push(list().map(item => item ?? ''));
      else throw new Error('no row');
    }
  } catch {
    return undefined;
  }
}
