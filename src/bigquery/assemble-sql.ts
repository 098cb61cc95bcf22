import { GatewayError, type SqlPosition } from '../base/errors.ts';
import type { Column } from '../base/rows.ts';
import { type BoundStatement, bindStatement } from '../googlesql/binder/bind-statement.ts';
import { resultColumns } from '../googlesql/binder/result-columns.ts';
import { lex, type Token } from '../googlesql/syntax/lexer.ts';
import { parseQuery } from '../googlesql/syntax/parse-query.ts';
import type { ParameterTypes, TableReference } from '../googlesql/tree/bind-context.ts';
import { foldName } from '../googlesql/tree/scope.ts';
import { invalidQuery, startOfText } from '../googlesql/tree/sql-error.ts';
import type { Query } from '../googlesql/tree/syntax-tree.ts';
import type { Catalog } from '../googlesql/tree/types.ts';
import type { TableMapping } from './client/table-mapping.ts';

export type AssembleRequest = {
  /** The saved query in BigQuery SQL. */
  readonly sql: string;
  /** Replaces the saved query's final statement; sees its top-level subsets only. */
  readonly callerSql?: string;
  readonly catalog: Catalog;
  readonly mapping: TableMapping;
  readonly parameterNames: readonly string[];
  readonly arrayParameterNames: readonly string[];
  /** Types of parameters, of the elements of arrays. Default: STRING. */
  readonly parameterTypes?: ParameterTypes;
};

/** A SQL text for BigQuery, and what our own front-end knows about it. */
export type AssembledSql = {
  readonly text: string;
  /** Lines of the text before the caller's first one. */
  readonly linesBefore: number;
  readonly columns: readonly Column[];
  /** Sources that the text names, each once. */
  readonly sources: readonly string[];
  /** Each occurrence of such a name. */
  readonly reads: readonly SourceRead[];
};

/** A source that a text names, and the lines of the subset that names it; those of the final statement extend to the end. */
export type SourceRead = {
  readonly source: string;
  readonly lines: { readonly first: number; readonly last: number };
};

/**
 * Makes the text that BigQuery will run. This is the sandbox's first check: our own front-end binds the statement before
 * anything is sent. Source names are replaced by tables where the saved query names them. Subsets that the statement does not
 * read become blanks: a missing table affects only the queries that read it, and everything else stays on its line. A caller's SQL
 * follows the saved subsets unchanged, every character at its own column.
 * @throws GatewayError `invalid_query` or `sandbox_refused` with line and column; `engine_failed` if a source has no table
 */
export function assembleSql(request: AssembleRequest): AssembledSql {
  const { sql, callerSql, mapping } = request;
  const bound = bind(request);
  const tokens = lex(sql);
  const saved = parseQuery(sql);
  const subsets = placeSubsets(tokens, saved, bound);
  const unread = unreadSpans(subsets);
  const tables = bound.tables
    .map(reference => ({ reference, span: spanOf(tokens, reference) }))
    .filter(({ span }) => !unread.some(({ start, end }) => start <= span.start && span.end <= end));
  const edits = [
    ...unread.map(span => ({ ...span, text: blank(sql.slice(span.start, span.end)) })),
    ...tables.map(({ reference, span }) => ({ ...span, text: tableText(reference, mapping) })),
  ];
  const found = {
    columns: resultColumns(bound.query.columns),
    sources: [...new Set(tables.map(({ reference }) => reference.name))],
    reads: tables.map(({ reference, span }) => ({
      source: reference.name,
      lines: linesAround(span, sql, subsets),
    })),
  };
  if (callerSql === undefined) return { text: applyEdits(sql, edits), linesBefore: 0, ...found };
  const read = subsets.filter(({ isRead }) => isRead);
  const last = read.at(-1);
  const names = new Set(read.map(({ name }) => foldName(name)));
  const { opening, text, closing } = joinCaller(names, callerSql);
  const prefix = last ? `${applyEdits(sql.slice(0, last.end), edits)}${opening}\n` : '';
  return { text: prefix + text + closing, linesBefore: prefix.split('\n').length - 1, ...found };
}

function bind(request: AssembleRequest): BoundStatement {
  try {
    return bindStatement(request);
  } catch (error) {
    // The stack overflowed: there is no single position to report.
    if (error instanceof RangeError) throw invalidQuery('The query is too complex', startOfText);
    throw error;
  }
}

type Span = { readonly start: number; readonly end: number };

type Edit = Span & { readonly text: string };

/** A top-level subset in the saved query's text, from its name to its closing parenthesis. */
type PlacedSubset = Span & {
  readonly name: string;
  readonly isRead: boolean;
  /** The comma before it, or the word WITH, which RECURSIVE may follow. */
  readonly before: Span;
};

function placeSubsets(tokens: readonly Token[], saved: Query, bound: BoundStatement): PlacedSubset[] {
  const firsts = [...saved.with.map(({ name }) => name.at), saved.body.at].map(at =>
    tokens.findIndex(token => isAt(token, at)),
  );
  return saved.with.map(({ name }, at) => {
    const isLast = at === saved.with.length - 1;
    const first = firsts[at]!;
    const last = firsts[at + 1]! - (isLast ? 1 : 2);
    return {
      name: name.name,
      isRead: bound.reached.has(bound.savedSubsets[at]!),
      before: tokens[first - (at === 0 && saved.isRecursive ? 2 : 1)]!,
      start: tokens[first]!.start,
      end: tokens[last]!.end,
    };
  });
}

/** The spans to remove with the unread subsets: one comma each, or the word WITH if none is read. */
function unreadSpans(subsets: readonly PlacedSubset[]): Span[] {
  const firstRead = subsets.findIndex(({ isRead }) => isRead);
  if (firstRead < 0)
    return subsets.length === 0 ? [] : [{ start: subsets[0]!.before.start, end: subsets.at(-1)!.end }];
  return subsets.flatMap((subset, at) => {
    if (subset.isRead) return [];
    if (at > firstRead) return [{ start: subset.before.start, end: subset.end }];
    return [{ start: subset.start, end: subsets[at + 1]!.before.end }];
  });
}

/** The lines, in the saved query, of the subset around a place; outside of all subsets, those of the final statement. */
function linesAround(place: Span, sql: string, subsets: readonly PlacedSubset[]): SourceRead['lines'] {
  const lineAt = (offset: number) => sql.slice(0, offset).split('\n').length;
  const holder = subsets.find(({ start, end }) => start <= place.start && place.end <= end);
  if (holder) return { first: lineAt(holder.start), last: lineAt(holder.end) };
  return { first: lineAt(subsets.at(-1)?.end ?? 0), last: Infinity };
}

/** The position of the path that names a source. */
function spanOf(tokens: readonly Token[], { name, at }: TableReference): Span {
  const first = tokens.findIndex(token => isAt(token, at));
  let last = first;
  for (let written = tokens[first]!.value; written !== name; written += tokens[last]!.value) last += 1;
  return { start: tokens[first]!.start, end: tokens[last]!.end };
}

/** The table that replaces a source. */
function tableText({ name, impliedAlias }: TableReference, mapping: TableMapping): string {
  const table = mapping.get(name);
  if (!table) throw new GatewayError('engine_failed', `Source ${name} has no table in BIGQUERY_TABLES`);
  // Columns may be qualified by the name of the source, but not if it contains dots or dashes.
  const alias = impliedAlias && /^\w+$/.test(impliedAlias) ? ` as \`${impliedAlias}\`` : '';
  return `\`${table.project}.${table.dataset}.${table.table}\`${alias}`;
}

/** A caller's text in the form in which it follows the saved subsets of these names. */
function joinCaller(saved: ReadonlySet<string>, callerSql: string): Joint {
  const tokens = lex(callerSql);
  const [word] = tokens;
  const verbatim = { opening: '', text: callerSql, closing: '' };
  if (word?.keyword !== 'WITH' || saved.size === 0) return verbatim;
  // WITH RECURSIVE needs a list of its own.
  const isRecursive = tokens[1]?.keyword === 'RECURSIVE';
  if (!isRecursive && !parseQuery(callerSql).with.some(({ name }) => saved.has(foldName(name.name)))) {
    // One list of subsets: the caller's word WITH becomes blank, so that everything else keeps its position.
    return { opening: ',', text: blankOut(callerSql, word), closing: '' };
  }
  // The same name twice in one list is an error, but in a nested query it hides the outer one.
  const semicolon = tokens.findLast(token => token.kind === 'symbol' && token.value === ';');
  return { opening: ' (', text: semicolon ? blankOut(callerSql, semicolon) : callerSql, closing: '\n)' };
}

type Joint = { readonly opening: string; readonly text: string; readonly closing: string };

function blankOut(text: string, { start, end }: Span): string {
  return text.slice(0, start) + blank(text.slice(start, end)) + text.slice(end);
}

/** Blanks of the same number of lines and the same last column, so that the text after them keeps its position. */
function blank(text: string): string {
  return text.replace(/[^\r\n\t]/gu, ' ').replace(/[ \t]+(?=[\r\n])/g, '');
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
