import type { SqlPosition } from '../../../base/errors.ts';
import { type BindContext, bindArguments, isCallers, type SpecialFunction } from '../../tree/bind-context.ts';
import { type BoundExpression, call as boundCall, literal } from '../../tree/bound-tree.ts';
import { concatenable } from '../../tree/coercion.ts';
import { invalidQuery, onlyOnWarehouse } from '../../tree/sql-error.ts';
import type { CallSyntax } from '../../tree/syntax-tree.ts';
import { patternProblem, patternSize } from '../../values/patterns.ts';
import { constantText } from '../call-arguments.ts';
import { bindRow, type FunctionRow, row } from '../function-row.ts';

/** Lengths, positions and parts count code points, as DuckDB's do. */
export const stringRows = [
  row('LOWER(STRING) STRING', 'bq_lower($1)'),
  row('UPPER(STRING) STRING', 'bq_upper($1)'),
  row('LENGTH(STRING) INT64', 'length($1)'),
  row('LENGTH(BYTES) INT64', 'octet_length($1)'),
  row('CHAR_LENGTH(STRING) INT64', 'length($1)'),
  row('CHARACTER_LENGTH(STRING) INT64', 'length($1)'),
  row('BYTE_LENGTH(STRING) INT64', 'strlen($1)'),
  row('BYTE_LENGTH(BYTES) INT64', 'octet_length($1)'),
  row('OCTET_LENGTH(STRING) INT64', 'strlen($1)'),
  // BigQuery trims all white space, DuckDB only the space character.
  row('TRIM(STRING) STRING', 'trim($1, $space)'),
  row('LTRIM(STRING) STRING', 'ltrim($1, $space)'),
  row('RTRIM(STRING) STRING', 'rtrim($1, $space)'),
  row('TRIM(STRING, STRING) STRING', 'trim($1, $2)'),
  row('LTRIM(STRING, STRING) STRING', 'ltrim($1, $2)'),
  row('RTRIM(STRING, STRING) STRING', 'rtrim($1, $2)'),
  row('REPLACE(STRING, STRING, STRING) STRING', 'bq_replace($1, $2, $3)'),
  row('REVERSE(STRING) STRING', 'bq_reverse($1)'),
  row('REPEAT(STRING, INT64) STRING', 'bq_repeat($1, $2)'),
  ...['SUBSTR', 'SUBSTRING'].flatMap(name => [
    row(`${name}(STRING, INT64) STRING`, 'substr($1, bq_start($1, $2))'),
    row(`${name}(STRING, INT64, INT64) STRING`, 'bq_substr($1, $2, $3)'),
  ]),
  row('LEFT(STRING, INT64) STRING', 'bq_left($1, $2)'),
  row('RIGHT(STRING, INT64) STRING', 'bq_right($1, $2)'),
  row('STARTS_WITH(STRING, STRING) BOOL', 'starts_with($1, $2)'),
  row('ENDS_WITH(STRING, STRING) BOOL', 'ends_with($1, $2)'),
  row('STRPOS(STRING, STRING) INT64', 'strpos($1, $2)'),
  row('INSTR(STRING, STRING) INT64', 'strpos($1, $2)'),
  row('LPAD(STRING, INT64) STRING', "bq_lpad($1, $2, ' ')"),
  row('LPAD(STRING, INT64, STRING) STRING', 'bq_lpad($1, $2, $3)'),
  row('RPAD(STRING, INT64) STRING', "bq_rpad($1, $2, ' ')"),
  row('RPAD(STRING, INT64, STRING) STRING', 'bq_rpad($1, $2, $3)'),
  row('SPLIT(STRING) ARRAY<STRING>', "string_split($1, ',')"),
  row('SPLIT(STRING, STRING) ARRAY<STRING>', 'bq_split($1, $2)'),
  row('ASCII(STRING) INT64', 'bq_ascii($1)'),
  row('CHR(INT64) STRING', 'bq_chr($1)'),
  row('TO_HEX(BYTES) STRING', 'lower(hex($1))'),
  row('MD5(STRING) BYTES', 'unhex(md5($1))'),
  row('SHA1(STRING) BYTES', 'unhex(sha1($1))'),
  row('SHA256(STRING) BYTES', 'unhex(sha256($1))'),
  row('TO_BASE64(BYTES) STRING', 'to_base64($1)'),
  row('FROM_BASE64(STRING) BYTES', 'bq_from_base64($1)'),
  row('GENERATE_UUID() STRING', 'cast(uuid() as varchar)'),
];

const containsRow = [row('REGEXP_CONTAINS(STRING, STRING) BOOL', 'regexp_matches($1, $2)')];
const replaceRow = [row('REGEXP_REPLACE(STRING, STRING, STRING) STRING', "regexp_replace($1, $2, $3, 'g')")];
const extractRow = [
  row('REGEXP_EXTRACT(STRING, STRING, INT64) STRING', 'bq_regexp_extract($1, $2, cast($3 as integer))'),
];
/** A group that did not take part in the match is NULL; of DuckDB's functions only the one for all matches reports that. */
const extractOptionalRow = [
  row(
    'REGEXP_EXTRACT(STRING, STRING, INT64) STRING',
    'list_extract(regexp_extract_all($1, $2, cast($3 as integer)), 1)',
  ),
];
const extractAllRow = [
  row(
    'REGEXP_EXTRACT_ALL(STRING, STRING, INT64) ARRAY<STRING>',
    'bq_regexp_extract_all($1, $2, cast($3 as integer))',
  ),
];

export const stringFunctions: Readonly<Record<string, SpecialFunction>> = {
  CONCAT: concat,
  REGEXP_CONTAINS: regexpContains,
  REGEXP_EXTRACT: regexpFunction('REGEXP_EXTRACT', extractRow),
  REGEXP_SUBSTR: regexpFunction('REGEXP_SUBSTR', extractRow),
  REGEXP_REPLACE: regexpReplace,
  REGEXP_EXTRACT_ALL: regexpFunction('REGEXP_EXTRACT_ALL', extractAllRow),
};

/** Values of other types are cast; BYTES are joined with BYTES only. */
function concat(...[context, call]: Parameters<SpecialFunction>): BoundExpression {
  const values = bindArguments(context, call);
  return bindRow(concatRows, 'function CONCAT', concatenable(values, call.at), call.at);
}

/** DuckDB does not infer the type of an operand joined with NULL. */
const bytesConcat = 'cast(($||) as blob)';
const concatRows = [row('CONCAT(STRING...) STRING', '($||)'), row('CONCAT(BYTES...) BYTES', bytesConcat)];

/** A constant pattern is checked here; a calculated one is checked when the query runs. */
function regexpContains(...[context, call]: Parameters<SpecialFunction>): BoundExpression {
  const values = bindArguments(context, call);
  const bound = bindRow(containsRow, 'function REGEXP_CONTAINS', values, call.at);
  if (bound.kind !== 'call') return bound;
  const [text, pattern] = bound.arguments;
  if (!text || !pattern) return bound;
  if (pattern.kind === 'literal') {
    checkPatternSize(context, pattern.value, call.at);
    return { ...bound, arguments: [text, { ...pattern, value: keptFromOptimiser(pattern.value) }] };
  }
  const template = isCallers(context.environment) ? 'bq_pattern(bq_checked_pattern($1))' : 'bq_pattern($1)';
  return { ...bound, arguments: [text, boundCall('PATTERN', template, [pattern], pattern.type)] };
}

/**
 * Protects a pattern from DuckDB's optimiser, which turns a constant pattern of literals into a search for their text and ignores anchors
 * that can't match: `$https` would find every `https`. It does not touch patterns with a group. The macro `bq_pattern` does the same for
 * patterns that are not constant.
 */
function keptFromOptimiser(pattern: string): string {
  return misplacedAnchor.test(pattern) ? `()${pattern}` : pattern;
}

/** An anchor that is neither first nor last, or something that looks like one: a false match only costs a little time. */
const misplacedAnchor = /[\s\S]\^|\$[\s\S]|\\[Az]/;

function checkPatternSize({ statement }: BindContext, pattern: string, at: SqlPosition): void {
  const problem = patternProblem(pattern);
  if (problem) throw invalidQuery(problem, at);
  statement.count('instructions', patternSize(pattern), at);
}

/** The result is the capturing group if the pattern has one, so the pattern must be known here. */
function regexpFunction(name: string, rows: typeof extractRow): SpecialFunction {
  return (context, call) => {
    const { length } = call.arguments;
    if (length < 2 || length > (rows === extractAllRow ? 2 : 4))
      throw invalidQuery(`No matching signature for function ${name} with ${length} arguments`, call.at);
    const [, written] = call.arguments;
    if (length > 2 || written?.kind !== 'literal' || written.type !== 'STRING')
      return dynamicMatch(context, call, name);
    const pattern = constantText(`The pattern of ${name}`, written, call.at);
    checkPatternSize(context, pattern, call.at);
    const groups = countGroups(pattern);
    refuseSingleBytes(pattern, call.at);
    if (groups > 1)
      throw invalidQuery(
        `Regular expression has more than one capturing group: ${shortened(pattern)}`,
        call.at,
      );
    const values = bindArguments(context, call);
    const group = literal('INT64', String(groups));
    const mayTakeNoPart = groups === 1 && /\)[?*{]|\|/.test(pattern);
    // `regexp_matches` must not be used to test for a match, see `keptFromOptimiser`.
    const chosen =
      rows === extractRow && (mayTakeNoPart || misplacedAnchor.test(pattern)) ? extractOptionalRow : rows;
    return bindRow(chosen, `function ${name}`, [...values, group], call.at);
  };
}

const replaceEachRows = [
  row('REGEXP_REPLACE(STRING, STRING, STRING) STRING', 'bq_regexp_replace_each($1, $2, $3)'),
];
const extractEachRows = [
  row('REGEXP_EXTRACT_ALL(STRING, STRING) ARRAY<STRING>', 'bq_regexp_extract_each($1, $2)'),
];
const extractAtRows = ['', ', INT64', ', INT64, INT64'].map((more, i) =>
  row(
    `REGEXP_EXTRACT(STRING, STRING${more}) STRING`,
    `bq_regexp_extract_at($1, $2, ${i > 0 ? '$3' : '1'}, ${i > 1 ? '$4' : '1'})`,
  ),
);

/** A pattern that is not constant, or a call with a position: evaluated in the engine process. */
function dynamicMatch(context: BindContext, call: CallSyntax, name: string): BoundExpression {
  return dynamicCall(context, call, name, name === 'REGEXP_EXTRACT_ALL' ? extractEachRows : extractAtRows);
}

function dynamicCall(
  context: BindContext,
  call: CallSyntax,
  name: string,
  rows: readonly FunctionRow[],
): BoundExpression {
  const values = bindArguments(context, call);
  const [, pattern] = values;
  if (pattern?.kind === 'literal') checkPatternSize(context, pattern.value, call.at);
  return bindRow(rows, `function ${name}`, values, call.at);
}

/** For a group that the pattern lacks, DuckDB returns the text unchanged; BigQuery fails. */
function regexpReplace(...[context, call]: Parameters<SpecialFunction>): BoundExpression {
  if (call.arguments.length !== 3)
    throw invalidQuery(
      'No matching signature for function REGEXP_REPLACE: it takes three arguments',
      call.at,
    );
  if (!call.arguments.slice(1).every(value => value.kind === 'literal' && value.type === 'STRING'))
    return dynamicCall(context, call, 'REGEXP_REPLACE', replaceEachRows);
  const pattern = constantText('The pattern of REGEXP_REPLACE', call.arguments[1], call.at);
  checkPatternSize(context, pattern, call.at);
  refuseSingleBytes(pattern, call.at);
  const wrong = wrongReplacement(
    constantText('The replacement of REGEXP_REPLACE', call.arguments[2], call.at),
    pattern,
  );
  if (wrong !== undefined) throw invalidQuery(`Invalid REGEXP_REPLACE replacement: ${wrong}`, call.at);
  const values = bindArguments(context, call);
  return bindRow(replaceRow, 'function REGEXP_REPLACE', values, call.at);
}

/** The first escape in a replacement that is neither a group of the pattern nor a backslash. */
export function wrongReplacement(text: string, pattern: string): string | undefined {
  const groups = countGroups(pattern);
  const escapes = Array.from(text.matchAll(/\\(.?)/gs), ([whole, escaped]) => ({ whole, escaped: escaped! }));
  return escapes.find(
    ({ escaped }) => escaped !== '\\' && !(/^\d$/.test(escaped) && Number(escaped) <= groups),
  )?.whole;
}

/** Refuses `\C`, which splits a character into bytes that are not text. */
function refuseSingleBytes(pattern: string, at: SqlPosition): void {
  const escapes = [...pattern.matchAll(/\\[\s\S]/g)].map(([pair]) => pair);
  if (escapes.includes('\\C')) throw onlyOnWarehouse('\\C in a regular expression', at);
}

/** A pattern as an error quotes it: its first 100 characters. */
function shortened(pattern: string): string {
  const characters = Array.from(pattern.slice(0, 202));
  return characters.length > 100 ? `${characters.slice(0, 100).join('')}…` : pattern;
}

/** Capturing groups of an RE2 pattern; classes, escapes and `(?:` do not count. */
export function countGroups(pattern: string): number {
  const pieces = pattern.matchAll(
    /\\Q[\s\S]*?(?:\\E|$)|\\[\s\S]|\[\^?\]?(?:\\[\s\S]|\[:\^?\w+:\]|[^\]\\])*(?:\]|\\?$)|\((\?P?<[A-Za-z_]|\?)?/g,
  );
  return [...pieces].filter(([piece, flag]) => piece.startsWith('(') && flag !== '?').length;
}
