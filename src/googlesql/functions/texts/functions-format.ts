import type { SqlPosition } from '../../../base/errors.ts';
import type { SpecialFunction } from '../../tree/bind-context.ts';
import { type BoundExpression, call as boundCall, literal } from '../../tree/bound-tree.ts';
import { coerce } from '../../tree/coercion.ts';
import { letIn } from '../../tree/let-in.ts';
import { concatOperands } from '../../tree/quote-text.ts';
import { invalidQuery } from '../../tree/sql-error.ts';
import { asComputed, refuseOuterArray } from '../../tree/storage.ts';
import { kindWithoutText, type ScalarKind, scalar, typeName } from '../../tree/types.ts';
import { maxOutputLength } from '../../values/engine-function.ts';
import { constantText } from '../call-arguments.ts';

const text = scalar('STRING');

const element = /%(?<flags>[-+ #0']*)(?<width>\*|\d*)(?:\.(?<precision>\*|\d*))?(?<letter>[\s\S])?/g;

/** What each letter takes. */
const expected: Readonly<Record<string, string>> = {
  ...Object.fromEntries([...'dioxX'].map(letter => [letter, 'integer'])),
  ...Object.fromEntries([...'fFeEgG'].map(letter => [letter, 'FLOAT64'])),
  s: 'STRING',
  u: 'UINT',
  p: 'PROTO or JSON',
  P: 'PROTO or JSON',
  t: '',
  T: '',
};

/** `FORMAT(format, …)`: the format is a constant, so that each element is printed for the type that it gets. */
export const formatFunctions: Readonly<Record<string, SpecialFunction>> = {
  FORMAT(context, call) {
    if (call.named?.length) throw invalidQuery('FORMAT takes no arguments by name', call.at);
    const [first, ...others] = call.arguments;
    if (first?.kind === 'literal' && first.type === 'NULL') return { kind: 'null', type: text };
    const format = constantText('The format of FORMAT', first, call.at);
    const values = others.map(argument => context.binder.expression(context, argument));
    return bindFormat(format, values, call.at);
  },
};

function bindFormat(format: string, values: readonly BoundExpression[], at: SqlPosition): BoundExpression {
  const pieces: BoundExpression[] = [];
  let taken = 0;
  let widths = 0;
  const refuse = (message: string): never => {
    throw invalidQuery(message, at);
  };
  const take = (): BoundExpression => {
    const value = values[taken++];
    if (value) return value;
    const needed = 1 + [...format.matchAll(element)].reduce((sum, [whole]) => sum + argumentCount(whole), 0);
    return refuse(
      `Too few arguments to FORMAT for pattern "${format}"; Expected ${needed}; Got ${values.length + 1}`,
    );
  };
  const size = (written: string | undefined): BoundExpression => {
    if (written === '*') {
      widths += maxOutputLength / 16;
      return checkedType(take(), 'integer', taken + 1, at);
    }
    const count = written === undefined ? -1 : Number(written || '0');
    if (count > maxOutputLength)
      refuse(
        `Width ${count} exceeds the maximum supported output width of FORMAT. Limit: ${maxOutputLength}`,
      );
    widths += Math.max(0, count);
    return literal('INT64', String(count));
  };
  let last = 0;
  for (const match of format.matchAll(element)) {
    const { flags = '', width, precision, letter } = match.groups!;
    if (match.index > last) pieces.push(literal('STRING', format.slice(last, match.index)));
    last = match.index + match[0].length;
    if (letter === undefined) refuse(`Invalid FORMAT string: "${format}"`);
    if (letter === '%') {
      pieces.push(literal('STRING', '%'));
      continue;
    }
    if (!Object.hasOwn(expected, letter!))
      refuse(`Invalid format specifier character "${letter}" in FORMAT string: "${format}"`);
    const sizes = [size(width || undefined), size(precision)];
    const value = checkedType(take(), expected[letter!]!, taken + 1, at);
    pieces.push(formatted(value, flags + letter, sizes, at));
  }
  if (last < format.length || pieces.length === 0) pieces.push(literal('STRING', format.slice(last)));
  if (taken < values.length)
    refuse(
      `Too many arguments to FORMAT for pattern "${format}"; Expected ${taken + 1}; Got ${values.length + 1}`,
    );
  if (widths > maxOutputLength)
    refuse(`The widths in a format of FORMAT are too large together; the limit is ${maxOutputLength}`);
  if (pieces.length === 1) return pieces[0]!;
  const template = `(${concatOperands(pieces.map((_, i) => `\${${i + 1}}`))})`;
  return formatCall(template, pieces);
}

const formatCall = (template: string, values: readonly BoundExpression[]) =>
  boundCall('FORMAT', template, values, text);

const argumentCount = (whole: string) =>
  whole.endsWith('%') && whole.length > 1 ? 0 : 1 + (whole.match(/\*/g)?.length ?? 0);

const kindsOf: Readonly<Record<string, readonly ScalarKind[]>> = {
  integer: ['INT64'],
  FLOAT64: ['FLOAT64', 'NUMERIC'],
  STRING: ['STRING'],
  UINT: [],
  'PROTO or JSON': ['JSON'],
};

function checkedType(
  value: BoundExpression,
  wanted: string,
  position: number,
  at: SqlPosition,
): BoundExpression {
  const kinds = kindsOf[wanted];
  if (!kinds) {
    refuseOuterArray(value, 'FORMAT', at);
    return value;
  }
  if (value.type.kind === 'NULL') return coerce(value, scalar(kinds[0] ?? 'INT64'), at);
  if (kinds.includes(value.type.kind as ScalarKind)) return value;
  throw invalidQuery(
    `Invalid type for argument ${position} to FORMAT; Expected ${wanted}; Got ${typeName(value.type)}`,
    at,
  );
}

function formatted(
  value: BoundExpression,
  flags: string,
  [width, precision]: readonly BoundExpression[],
  at: SqlPosition,
): BoundExpression {
  const letter = flags.at(-1)!;
  const by = (name: string, of: BoundExpression) =>
    formatCall(`${name}($1, $2, $3, $4)`, [literal('STRING', flags), width!, precision!, of]);
  if ('dioxX'.includes(letter)) return by('bq_format_integer', value);
  if ('fFeEgG'.includes(letter))
    return by(value.type.kind === 'NUMERIC' ? 'bq_format_numeric' : 'bq_format_float', value);
  const plain = asText(value, letter, at);
  const isPlain = [width, precision].every(size => size?.kind === 'literal' && size.value === '-1');
  return isPlain ? plain : by('bq_format_text', plain);
}

function asText(value: BoundExpression, letter: string, at: SqlPosition): BoundExpression {
  // As to C, a text ends where its first NUL is.
  if (letter === 's') return formatCall('split_part($1, chr(0), 1)', [value]);
  if (letter === 'p') return formatCall('cast($1 as varchar)', [value]);
  if (letter === 'P') return formatCall('bq_json_pretty(cast($1 as varchar))', [value]);
  if (value.kind === 'null') return literal('STRING', 'NULL');
  const kind = kindWithoutText(value.type);
  if (kind) throw invalidQuery(`FORMAT is not supported for ${kind}`, at);
  const given = asComputed(value);
  return letIn(given, named => formatCall(letter === 't' ? '$sqlText' : '$sqlLiteral', [named]));
}
