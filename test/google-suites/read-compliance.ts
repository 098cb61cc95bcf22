import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  isStorable,
  readWrittenRows,
  storedOf,
  storedType,
  unknownType,
  type WrittenRows,
  wireOf,
  writtenColumn,
} from './compliance-values.ts';
import { forBigQuery, notInBigQuery } from './not-in-bigquery.ts';
import { readsDefaultZone, withoutTexts } from './sql-text.ts';
import { anyName, type Expected, type SuiteCase, type SuiteTable } from './suite-case.ts';

/** Files about what BigQuery lacks, or about statements that are no queries. */
const skippedFiles =
  /^(aead|ai_|anonymization|apply_lambda|array_find|array_includes|array_of_arrays|array_zip|call_sql|differential|dml|elementwise|enum|filter_fields|graph|hop_tvf|invoke|json_\w*(int32|uint)|kll|map_functions|match_rec|measures|multi_level|nano|pico|pipe_(aggregate|call|describe|if|match|recursive|static)|proto|replace_fields|tablesample|top_level|tumble|unnest_multiway|uuid|analytic_kll|group_rows|aggregate_filter|aggregation_threshold|aggregate_analytic_filter)/;

/** Every query of GoogleSQL's compliance tests, with its tables. */
export function readCompliance(checkout: string): SuiteCase[] {
  const folder = join(checkout, 'googlesql/compliance/testdata');
  return readdirSync(folder)
    .filter(name => name.endsWith('.test'))
    .sort()
    .flatMap(name => readFile(name, readFileSync(join(folder, name), 'utf8')));
}

export function readFile(file: string, text: string): SuiteCase[] {
  const cases: SuiteCase[] = [];
  const tables: SuiteTable[] = [];
  const lostTables: string[] = [];
  let defaults: string[] = [];
  let zone = 'America/Los_Angeles';
  let line = 1;
  for (const section of text.split(/^==\s*$/m)) {
    const startLine = line;
    line += section.split('\n').length - 1;
    const [head = '', ...results] = section.split(/^--\s*$/m);
    const { options, sql } = readHead(head);
    const own = options.get('default required_features');
    if (own !== undefined) defaults = own;
    zone = options.get('default_time_zone')?.[0] ?? zone;
    if (sql === '') continue;
    const features = [...(options.get('required_features') ?? []), ...defaults];
    const result = results[0]?.trim() ?? '';
    if (options.has('prepare_database')) {
      const table = readTable(sql, result);
      if (table) tables.push(table);
      else
        lostTables.push(
          /^create\s+(?:\w+\s+)*?(?:table|constant|function|view|graph)\s+`?(\w+)/i.exec(sql)?.[1] ?? '',
        );
      continue;
    }
    const name = options.get('name')?.[0] ?? '';
    const at = `${file}:${startLine} ${name}`;
    const statement = withTableNames(
      withParameters(forBigQuery(sql), options.get('parameters')?.join(',') ?? ''),
      tables,
    );
    const isUnsteady = /non-?determinis/.test(section);
    const { expected, skipped } = readExpected(result);
    const reason = skippedFiles.test(file)
      ? 'a file about what BigQuery lacks'
      : (notInBigQuery(statement, features) ??
        skipped ??
        (lostName(statement, tables, lostTables) && 'a table or column of a type that BigQuery lacks'));
    cases.push({
      at,
      sql: statement,
      expected,
      tables,
      isUnsteady,
      isOfOtherZone: !/UTC|^\+00$/.test(zone) && readsDefaultZone(statement),
      ...(reason === undefined ? {} : { skipped: reason }),
    });
  }
  return cases;
}

/** Options stand before the statement, `[name=…]` a line; a list may take several lines. */
function readHead(text: string): { options: Map<string, string[]>; sql: string } {
  const options = new Map<string, string[]>();
  let rest = text;
  for (;;) {
    rest = rest.replace(/^(?:\s*#[^\n]*\n|\s*\n)+/, '').trimStart();
    const option = /^\[(\w[\w ]*)(?:=((?:"(?:\\.|[^"\\])*"|\[[^\]]*\]|[^\]"])*))?\]\s*\n/.exec(rest);
    if (!option) break;
    const values = option[1]!.endsWith('features') ? (option[2] ?? '').split(',') : [option[2] ?? ''];
    options.set(
      option[1]!,
      values.map(value => value.trim()),
    );
    rest = rest.slice(option[0].length);
  }
  const sql = rest
    .replace(/^\\(?=--|==)/gm, '')
    .replace(/^(?:#[^\n]*\n|\s*\n)+/, '')
    .trim()
    .replace(/;$/, '');
  return { options, sql };
}

/** Names of tables in the case in which they were made: GoogleSQL's tests write them in any. */
function withTableNames(sql: string, tables: readonly SuiteTable[]): string {
  return tables.reduce(
    (text, { name }) => text.replace(new RegExp(`\\b(from|join|,)(\\s+)${name}\\b`, 'gi'), `$1$2${name}`),
    sql,
  );
}

/** `1 as a, "x" as b`: each value stands in the place of its parameter. */
function withParameters(sql: string, list: string): string {
  if (list === '') return sql;
  const values = new Map<string, string>();
  for (const [, value, name] of list.matchAll(
    /\s*((?:"(?:\\.|[^"\\])*"|\([^()]*(?:\([^()]*\)[^()]*)*\)|[^",()])+?)\s+as\s+(\w+)\s*(?:,|$)/gi,
  ))
    values.set(name!.toLowerCase(), value!);
  return sql.replace(/@(\w+)/g, (text, name: string) => {
    const value = values.get(name.toLowerCase());
    if (value === undefined) return text;
    return /^[\w.+-]+$|^"[^"]*"$/.test(value) ? value : `(${forBigQuery(value)})`;
  });
}

function readTable(sql: string, result: string): SuiteTable | undefined {
  const made = /^create\s+table\s+`?(\w+)`?\s+as\s+([\s\S]*)$/i.exec(sql);
  if (!made) return undefined;
  const { columns, rows } = readWrittenRows(result);
  const indexed = columns.map((column, i) => ({ ...column, i }));
  const kept = indexed.filter(isKept);
  if (kept.length === 0) return undefined;
  return {
    name: made[1]!,
    sql: made[2]!,
    columns: kept.map(({ name, type }) => ({ name, type: storedType(type) })),
    lost: indexed.filter(column => !isKept(column)).map(({ name }) => name),
    rows: rows.map(row =>
      Object.fromEntries(kept.map(({ name, type, i }) => [name, storedOf(type, row[i] ?? null)])),
    ),
  };
}

/** A table or a column that the embedded engine can't store, where the statement names one. */
function lostName(
  sql: string,
  tables: readonly SuiteTable[],
  lostTables: readonly string[],
): string | undefined {
  const words = new Set(withoutTexts(sql).toLowerCase().match(/\w+/g));
  const read = tables.filter(({ name }) => words.has(name.toLowerCase()));
  const lost = [...lostTables, ...read.flatMap(table => table.lost)];
  return lost.find(name => words.has(name.toLowerCase()));
}

/** A column that the embedded engine can store. */
const isKept = ({ name, type }: WrittenRows['columns'][number]): boolean =>
  name !== '' && isStorable(type) && type.kind !== 'BIGNUMERIC';

function readExpected(result: string): { expected: Expected; skipped?: string } {
  if (result.startsWith('ERROR'))
    return { expected: { kind: 'error', message: result.replace(/^ERROR: (?:generic::)?/, '') } };
  const none: Expected = { kind: 'error', message: '' };
  try {
    const { columns, rows, isOrdered, hasUnorderedArrays } = readWrittenRows(result);
    const unknown = columns.map(column => unknownType(column.type)).find(name => name !== undefined);
    if (unknown) return { expected: none, skipped: `type ${unknown}` };
    if (columns.some(({ type }) => type.kind === 'ARRAY' && type.element.kind === 'ARRAY'))
      return { expected: none, skipped: 'arrays of arrays' };
    let anonymous = 0;
    const isValueTable = /^ARRAY<(?!STRUCT)/.test(result);
    const named = columns.map(({ name, type }) =>
      writtenColumn(isValueTable ? anyName : name || `f${anonymous++}_`, type),
    );
    const names = new Set(named.map(column => column.name.toLowerCase()));
    if (names.size < named.length)
      return { expected: none, skipped: 'two columns of one name, which BigQuery refuses' };
    const wire = rows.map(row => columns.map(({ type }, i) => wireOf(type, row[i] ?? null)));
    return { expected: { kind: 'rows', columns: named, rows: wire, isOrdered, hasUnorderedArrays } };
  } catch (error) {
    return { expected: none, skipped: `unreadable result: ${String(error).slice(0, 60)}` };
  }
}
