import { GatewayError, type SqlPosition } from '../errors.ts';
import type { TableReference } from '../googlesql/bind-context.ts';
import { type BoundStatement, bindStatement } from '../googlesql/bind-statement.ts';
import { lex, type Token } from '../googlesql/lexer.ts';
import { parseQuery } from '../googlesql/parse-query.ts';
import { resultColumns } from '../googlesql/result-columns.ts';
import { foldName } from '../googlesql/scope.ts';
import { invalidQuery } from '../googlesql/sql-error.ts';
import type { WithItem } from '../googlesql/syntax-tree.ts';
import type { Catalog } from '../googlesql/types.ts';
import type { Column } from '../rows.ts';
import type { TableMapping } from './table-mapping.ts';

export type AssembleRequest = {
  /** The saved query in BigQuery SQL. */
  readonly sql: string;
  /** Replaces the saved query's final statement; sees its top-level subsets only. */
  readonly callerSql?: string;
  readonly catalog: Catalog;
  readonly mapping: TableMapping;
  readonly parameterNames: readonly string[];
  readonly arrayParameterNames: readonly string[];
};

/** A text for BigQuery, and what our own front-end found out about it. */
export type AssembledSql = {
  readonly text: string;
  /** Lines of the text before the caller's first one. */
  readonly linesBefore: number;
  readonly columns: readonly Column[];
  /** Sources that the text names, each once. */
  readonly sources: readonly string[];
};

/**
 * Makes the text that BigQuery is to run. This is the sandbox's first lock: our own front-end binds the statement before
 * anything goes out. Source names give way to tables where the saved query names them; a caller's SQL is put behind the
 * saved subsets as it was written, every character at its own column.
 * @throws GatewayError `invalid_query` or `sandbox_refused` with line and column; `engine_failed` for a source without table
 */
export function assembleSql(request: AssembleRequest): AssembledSql {
  const { sql, callerSql, mapping } = request;
  const bound = bind(request);
  const tokens = lex(sql);
  const edits = bound.tables.map(reference => nameTable(tokens, reference, mapping));
  const found = {
    columns: resultColumns(bound.query.columns),
    sources: [...new Set(bound.tables.map(({ name }) => name))],
  };
  if (callerSql === undefined) return { text: applyEdits(sql, edits), linesBefore: 0, ...found };
  const saved = parseQuery(sql);
  const body = tokens.findIndex(token => isAt(token, saved.body.at));
  // What stands between the last subset and the final statement are comments; they go with the statement.
  const end = saved.with.length > 0 ? tokens[body - 1]!.end : 0;
  const subsets = applyEdits(sql.slice(0, end), edits);
  const { opening, text, closing } = joinCaller(saved.with, callerSql);
  const prefix = end > 0 ? `${subsets}${opening}\n` : '';
  return { text: prefix + text + closing, linesBefore: prefix.split('\n').length - 1, ...found };
}

function bind(request: AssembleRequest): BoundStatement {
  try {
    return bindStatement(request);
  } catch (error) {
    // The stack ran out: no one position explains it.
    if (error instanceof RangeError) throw invalidQuery('The query is too complex', { line: 1, column: 1 });
    throw error;
  }
}

type Edit = { readonly start: number; readonly end: number; readonly text: string };

/** Puts the table in the place of the path that names its source. */
function nameTable(tokens: readonly Token[], reference: TableReference, mapping: TableMapping): Edit {
  const { name, at, impliedAlias } = reference;
  const table = mapping.get(name);
  if (!table) throw new GatewayError('engine_failed', `Source ${name} has no table in BIGQUERY_TABLES`);
  const first = tokens.findIndex(token => isAt(token, at));
  let last = first;
  for (let written = tokens[first]!.value; written !== name; written += tokens[last]!.value) last += 1;
  // Columns are reached through the name of the source; one with dots or dashes is never written for that.
  const alias = impliedAlias && /^\w+$/.test(impliedAlias) ? ` as \`${impliedAlias}\`` : '';
  const text = `\`${table.project}.${table.dataset}.${table.table}\`${alias}`;
  return { start: tokens[first]!.start, end: tokens[last]!.end, text };
}

/** How a caller's text goes on where the saved subsets end. */
function joinCaller(saved: readonly WithItem[], callerSql: string): Joint {
  const tokens = lex(callerSql);
  const [word] = tokens;
  const verbatim = { opening: '', text: callerSql, closing: '' };
  if (word?.keyword !== 'WITH' || saved.length === 0) return verbatim;
  const names = new Set(saved.map(({ name }) => foldName(name.name)));
  if (!parseQuery(callerSql).with.some(({ name }) => names.has(foldName(name.name)))) {
    // One list of subsets: the caller's word WITH goes blank, so that all the rest stays where it is.
    return { opening: ',', text: blank(callerSql, word), closing: '' };
  }
  // A name twice in one list is an error, in a query inside the other it hides the first.
  const semicolon = tokens.findLast(token => token.kind === 'symbol' && token.value === ';');
  return { opening: ' (', text: semicolon ? blank(callerSql, semicolon) : callerSql, closing: '\n)' };
}

type Joint = { readonly opening: string; readonly text: string; readonly closing: string };

function blank(text: string, { start, end }: Token): string {
  return text.slice(0, start) + ' '.repeat(end - start) + text.slice(end);
}

function isAt(token: Token, at: SqlPosition): boolean {
  return token.at.line === at.line && token.at.column === at.column;
}

function applyEdits(text: string, edits: readonly Edit[]): string {
  let out = '';
  let copied = 0;
  for (const edit of [...edits].sort((a, b) => a.start - b.start)) {
    if (edit.end > text.length || edit.start < copied) continue;
    out += text.slice(copied, edit.start) + edit.text;
    copied = edit.end;
  }
  return out + text.slice(copied);
}
