import type { SqlPosition } from '../../../base/errors.ts';
import { type BoundExpression, call, unsupportedCall } from '../../tree/bound-tree.ts';
import { cast, coerce } from '../../tree/coercion.ts';
import { letIn, tryWith } from '../../tree/let-in.ts';
import { invalidQuery, onlyOnWarehouse } from '../../tree/sql-error.ts';
import { type SqlType, scalar, typeName } from '../../tree/types.ts';
import { checkByteFormat } from '../../values/casts/byte-casts.ts';
import { checkNumberFormat } from '../../values/casts/number-casts.ts';
import { checkTimeFormat, isDatedFormat, isZonedFormat } from '../../values/casts/time-format.ts';
import { civilTime, utc, zoneForm } from './time-arguments.ts';

type FormatCast = {
  readonly to: SqlType;
  readonly safe: boolean;
  /** A STRING. */
  readonly format: BoundExpression;
  /** A STRING, of AT TIME ZONE. */
  readonly zone?: BoundExpression | undefined;
  readonly at: SqlPosition;
};

const numbers = ['INT64', 'FLOAT64', 'NUMERIC'];
const times = ['DATE', 'TIME', 'DATETIME', 'TIMESTAMP'];

/** `CAST(x AS type FORMAT '…')`: the engine process reads and writes the text. */
export function castWithFormat(of: BoundExpression, wanted: FormatCast): BoundExpression {
  const { to, safe, format, zone, at } = wanted;
  const from = of.type.kind;
  const pair = `cast from ${typeName(of.type)} to ${typeName(to)}`;
  const make = makerOf(from === 'NULL' ? (to.kind === 'STRING' ? 'BYTES' : 'STRING') : from, to.kind);
  if (!make) throw invalidQuery(`FORMAT is not allowed for ${pair}`, at);
  if (zone && ![from, to.kind].includes('TIMESTAMP'))
    throw invalidQuery(`AT TIME ZONE is not allowed for ${pair}`, at);
  if (of.kind === 'null' || format.kind === 'null') return { kind: 'null', type: to };
  const [check, bind] = make;
  const given = [of, format, ...(zone ? [zone] : [])];
  const problem = format.kind === 'literal' ? problemOf(() => check(format.value)) : undefined;
  if (problem && / is not supported$/.test(problem))
    return unsupportedCall(onlyOnWarehouse(problem.replace(' is not supported', ''), at).reason, to, given);
  if (problem && !safe) throw invalidQuery(problem, at);
  const build = ([value, form, place]: readonly BoundExpression[]) =>
    bind(value!, form!, { to, zone: place, at });
  return safe ? tryWith(given, build) : build(given);
}

function problemOf(check: () => void): string | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

type Bind = (
  of: BoundExpression,
  format: BoundExpression,
  options: Pick<FormatCast, 'to' | 'zone' | 'at'>,
) => BoundExpression;

/** What checks a constant format, and what binds the cast; undefined where there is no FORMAT between two types. */
function makerOf(from: string, to: string): [check: (format: string) => void, bind: Bind] | undefined {
  if (from === 'STRING' && to === 'BYTES')
    return [checkByteFormat, (of, format) => ofFormat('bq_cast_text_bytes($2, $1)', [of, format], 'BYTES')];
  if (from === 'STRING' && times.includes(to)) return [format => checkTimeFormat(format, to, true), readTime];
  if (to !== 'STRING') return undefined;
  if (from === 'BYTES')
    return [checkByteFormat, (of, format) => ofFormat('bq_cast_bytes_text($2, $1)', [of, format], 'STRING')];
  if (numbers.includes(from)) return [checkNumberFormat, writeNumber];
  return times.includes(from) ? [format => checkTimeFormat(format, from, false), writeTime] : undefined;
}

type Result = Parameters<typeof scalar>[0];

function ofFormat(template: string, values: readonly BoundExpression[], type: Result): BoundExpression {
  return call('CAST FORMAT', template, values, scalar(type));
}

function writeNumber(...[of, format, { at }]: Parameters<Bind>): BoundExpression {
  const isFloat = of.type.kind === 'FLOAT64';
  const value = isFloat ? of : coerce(of, scalar('NUMERIC'), at);
  return ofFormat(`bq_cast_${isFloat ? 'float' : 'numeric'}_text($2, $1)`, [value, format], 'STRING');
}

function writeTime(...[of, format, { zone, at }]: Parameters<Bind>): BoundExpression {
  const { kind } = of.type;
  const write = (ahead: string, values: readonly BoundExpression[]) =>
    ofFormat(`bq_cast_time_text($2, '${kind}', epoch_us($1), ${ahead})`, values, 'STRING');
  if (kind === 'TIMESTAMP')
    return letIn(of, named =>
      write('(epoch_us($1) - epoch_us($3)) // 1000000', [
        civilTime(named, zoneForm(zone, at)),
        format,
        named,
      ]),
    );
  const civil =
    kind === 'TIME'
      ? ofFormat("(date '1970-01-01' + $1)", [of], 'DATETIME')
      : coerce(of, scalar('DATETIME'), at);
  return write('0', [civil, format]);
}

function readTime(...[of, format, { to, zone, at }]: Parameters<Bind>): BoundExpression {
  const form = zoneForm(zone, at);
  const isDated = to.kind === 'TIME' || (format.kind === 'literal' && isDatedFormat(format.value));
  const now: BoundExpression = { kind: 'now', type: scalar('TIMESTAMP') };
  const parsed = ofFormat(
    `make_timestamp(bq_cast_text_time($2, $1, '${to.kind}', ${isDated ? '0' : 'epoch_us($3)'}))`,
    [of, format, ...(isDated ? [] : [civilTime(now, to.kind === 'TIMESTAMP' ? form : utc)])],
    'DATETIME',
  );
  if (to.kind !== 'TIMESTAMP') return to.kind === 'DATETIME' ? parsed : cast(parsed, to, false, at);
  const local = ofFormat(form.instant('$1'), [parsed, ...form.values], 'TIMESTAMP');
  const absolute = ofFormat(utc.instant('$1'), [parsed], 'TIMESTAMP');
  if (format.kind === 'literal') return isZonedFormat(format.value) ? absolute : local;
  return ofFormat(
    '(case when bq_cast_format_zoned($1) then $2 else $3 end)',
    [format, absolute, local],
    'TIMESTAMP',
  );
}
