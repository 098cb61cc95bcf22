import { readZone } from '../../times/read-zone.ts';
import type { BindContext, SpecialFunction } from '../../tree/bind-context.ts';
import { type BoundExpression, unsupportedCall } from '../../tree/bound-tree.ts';
import { cast, coerce, temporalLiteral } from '../../tree/coercion.ts';
import { inTemplate, quoteText } from '../../tree/quote-text.ts';
import { onlyOnWarehouse } from '../../tree/sql-error.ts';
import type { CallSyntax } from '../../tree/syntax-tree.ts';
import { scalar } from '../../tree/types.ts';
import { parseTime, unreadElement } from '../../values/times/parse-time.ts';
import { formatTemplate, parseFormats } from './date-formats.ts';
import {
  argument,
  argumentsOfOneKind,
  arity,
  civilTime,
  timeCall,
  utc,
  zoneArgument,
} from './time-arguments.ts';

type Kind = 'TIMESTAMP' | 'DATETIME' | 'DATE' | 'TIME';

/** `FORMAT_…` of a kind: by DuckDB's formats if they have every element of a constant format, otherwise in the engine process. */
export function formatting(named: Kind): SpecialFunction {
  return (context, syntax) => {
    arity(syntax, 2, named === 'TIME' ? 2 : 3);
    const format = argument(context, syntax, 0, 'STRING');
    const { kind, value } = formatted(context, syntax, named);
    arity(syntax, 2, kind === 'TIMESTAMP' ? 3 : 2);
    const zone = kind === 'TIMESTAMP' ? zoneArgument(context, syntax, 2) : utc;
    const isUtc = kind === 'TIMESTAMP' && zone.isUtc;
    const civil = civilOf(value, kind, zone, syntax);
    const template =
      format.kind === 'literal' && kind !== 'TIME'
        ? formatTemplate(format.value, { kind, isUtc })
        : undefined;
    if (template) return timeCall(`FORMAT_${named}`, template, [civil], 'STRING');
    const ahead = kind === 'TIMESTAMP' ? '(epoch_us($2) - epoch_us($3)) // 1000000' : '0';
    const values = [format, civil, ...(kind === 'TIMESTAMP' ? [value] : [])];
    return timeCall(
      `FORMAT_${named}`,
      `bq_format_time($1, '${kind}', epoch_us($2), ${ahead})`,
      values,
      'STRING',
    );
  };
}

function formatted(
  context: BindContext,
  syntax: CallSyntax,
  named: Kind,
): { readonly kind: Kind; readonly value: BoundExpression } {
  if (named === 'TIME') return { kind: named, value: argument(context, syntax, 1, named) };
  const { kind, values } = argumentsOfOneKind(context, syntax, [1], named);
  return { kind, value: values[0]! };
}

function civilOf(value: BoundExpression, kind: Kind, zone: typeof utc, { at }: CallSyntax): BoundExpression {
  if (kind === 'TIMESTAMP') return civilTime(value, zone);
  if (kind === 'TIME') return timeCall('civil', "(date '1970-01-01' + $1)", [value], 'DATETIME');
  return coerce(value, scalar('DATETIME'), at);
}

/**
 * `PARSE_…` of a kind: by DuckDB's formats if they have the elements of a constant format, and in the engine process for texts that these
 * can't read, which fails with BigQuery's message.
 */
export function parsing(kind: Kind): SpecialFunction {
  return (context, syntax) => {
    arity(syntax, 2, kind === 'TIMESTAMP' ? 3 : 2);
    const format = argument(context, syntax, 0, 'STRING');
    const value = argument(context, syntax, 1, 'STRING');
    const unread = format.kind === 'literal' ? unreadElement(format.value) : undefined;
    if (unread) {
      const { reason } = onlyOnWarehouse(`Parsing by the format element ${unread}`, syntax.at);
      return unsupportedCall(reason, scalar(kind), [format, value]);
    }
    const known = syntax.arguments.length === 2 ? parsedConstant(kind, format, value, syntax) : undefined;
    if (known) return known;
    if (kind === 'TIMESTAMP') return parsedTimestamp(context, syntax, format, value);
    const native = format.kind === 'literal' && kind !== 'TIME' ? nativeParse(format.value, kind) : undefined;
    const own = `make_timestamp(bq_parsed_time($1, $2, '${kind}'))`;
    const parsed = timeCall(
      'PARSE',
      native ? `coalesce(${native}, ${own})` : own,
      [format, value],
      'DATETIME',
    );
    return kind === 'DATETIME' ? parsed : cast(parsed, scalar(kind), false, syntax.at);
  };
}

/**
 * The value of a constant text and format, for which DuckDB would plan some fifty expressions; undefined if reading fails, or the text
 * names a zone.
 */
function parsedConstant(
  kind: Kind,
  format: BoundExpression,
  value: BoundExpression,
  { at }: CallSyntax,
): BoundExpression | undefined {
  if (format.kind !== 'literal' || value.kind !== 'literal') return undefined;
  try {
    const { at: micros, zone } = parseTime(format.value, value.value, kind);
    const offset = readZone(zone ?? 'UTC');
    if (offset?.name !== 'UTC') return undefined;
    const text = civilText(micros - BigInt(offset.minutes) * 60_000_000n);
    const [date = '', time = ''] = text.split('T');
    return temporalLiteral(kind === 'DATE' ? date : kind === 'TIME' ? time : text, scalar(kind), at);
  } catch {
    return undefined;
  }
}

/** `2026-01-15T10:00:00.123456` of microseconds since 1970. */
function civilText(micros: bigint): string {
  const fraction = ((micros % 1_000_000n) + 1_000_000n) % 1_000_000n;
  const seconds = new Date(Number((micros - fraction) / 1000n)).toISOString();
  return seconds.replace(/\.000Z$/, `.${String(fraction).padStart(6, '0')}`);
}

function parsedTimestamp(
  context: BindContext,
  syntax: CallSyntax,
  format: BoundExpression,
  value: BoundExpression,
): BoundExpression {
  const zone = zoneArgument(context, syntax, 2);
  const native = format.kind === 'literal' ? nativeParse(format.value, 'TIMESTAMP') : undefined;
  const own = "make_timestamp(bq_parsed_time($1, $2, 'TIMESTAMP'))";
  // A format that names the zone makes an instant by itself.
  const isZoned = format.kind !== 'literal' || /%(?:E?z|Z|s)/.test(format.value);
  const parsed = timeCall(
    'PARSE',
    native && !isZoned ? `coalesce(${native}, ${own})` : own,
    [format, value],
    'DATETIME',
  );
  const instant = timeCall('PARSE_TIMESTAMP', zone.instant('$1'), [parsed, ...zone.values], 'TIMESTAMP');
  if (!isZoned) return instant;
  const named = timeCall('PARSED_ZONE', 'bq_parsed_zone($1, $2)', [format, value], 'STRING');
  const template = `(case when $1 is null then $2 else bq_instant(bq_zone_name($1), $3 - to_microseconds(bq_zone_offset($1))) end)`;
  const read = timeCall('PARSE_TIMESTAMP', template, [named, instant, parsed], 'TIMESTAMP');
  if (!native) return read;
  return timeCall('PARSE_TIMESTAMP', `coalesce(${native}, $3)`, [format, value, read], 'TIMESTAMP');
}

const endOfYearZero = "timestamp '0001-12-31 (BC) 23:59:59.999999'";

/** DuckDB text that reads `$2`, and is NULL if it can't, or if BigQuery has no such year. */
function nativeParse(format: string, kind: string): string | undefined {
  const readable = parseFormats(format, kind);
  if (!readable) return undefined;
  const texts = readable.formats.map(f => inTemplate(quoteText(f)));
  const parsed = `nullif(greatest(try_strptime($2, [${texts.join(', ')}]), ${endOfYearZero}), ${endOfYearZero})`;
  return `case when regexp_full_match($2, ${inTemplate(quoteText(readable.pattern))}) then ${parsed} end`;
}
