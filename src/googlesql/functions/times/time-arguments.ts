import type { SqlPosition } from '../../../base/errors.ts';
import { readZone } from '../../times/read-zone.ts';
import type { BindContext } from '../../tree/bind-context.ts';
import { type BoundExpression, call } from '../../tree/bound-tree.ts';
import { coerce, coercionCost } from '../../tree/coercion.ts';
import { invalidQuery } from '../../tree/sql-error.ts';
import type { CallSyntax } from '../../tree/syntax-tree.ts';
import { type ScalarKind, scalar, typeName } from '../../tree/types.ts';
import { nameOf } from '../call-arguments.ts';

/** A call with this DuckDB template, of a scalar type. */
export function timeCall(
  name: string,
  template: string,
  values: readonly BoundExpression[],
  type: ScalarKind,
): BoundExpression {
  return call(name, template, values, scalar(type));
}

/**
 * Refuses a call with fewer or more arguments than these.
 * @throws GatewayError `invalid_query`
 */
export function arity(syntax: CallSyntax, from: number, to: number): void {
  const count = syntax.arguments.length;
  if (count >= from && count <= to && !syntax.named?.length) return;
  throw invalidQuery(
    `No matching signature for function ${nameOf(syntax)} with ${count} arguments`,
    syntax.at,
  );
}

/** An argument of a given type; DATE and literals widen as everywhere. */
export function argument(
  context: BindContext,
  syntax: CallSyntax,
  index: number,
  kind: ScalarKind,
): BoundExpression {
  return asArgument(context.binder.expression(context, syntax.arguments[index]!), syntax, index, kind);
}

/** The same for an argument that is already bound: binding it again would double the work at each level of nested calls. */
export function asArgument(
  value: BoundExpression,
  syntax: CallSyntax,
  index: number,
  kind: ScalarKind,
): BoundExpression {
  if (coercionCost(value, scalar(kind)) === undefined) {
    throw invalidQuery(
      `No matching signature for function ${nameOf(syntax)}: argument ${index + 1} is ${typeName(value.type)}, expected ${kind}`,
      syntax.arguments[index]!.at,
    );
  }
  return coerce(value, scalar(kind), syntax.at);
}

export type DayKind = 'TIMESTAMP' | 'DATETIME' | 'DATE';

/**
 * Arguments of a function that is named after one type but accepts others: `DATE_DIFF` of two TIMESTAMP is `TIMESTAMP_DIFF`. A DATE
 * widens to DATETIME if the function is not one of DATE.
 */
export function argumentsOfOneKind(
  context: BindContext,
  syntax: CallSyntax,
  indexes: readonly number[],
  named: DayKind,
  { widensDates = true } = {},
): { readonly kind: DayKind; readonly values: readonly BoundExpression[]; readonly isDate: boolean } {
  const given = indexes.map(index => context.binder.expression(context, syntax.arguments[index]!));
  const types = given.map(({ type }) => type.kind);
  const isDate = types.includes('DATE');
  const wider = (['TIMESTAMP', 'DATETIME'] as const).find(kind => types.includes(kind));
  const ofDates = named === 'DATE' || !widensDates ? 'DATE' : 'DATETIME';
  const kind = wider ?? (isDate ? ofDates : named);
  return { kind, isDate, values: given.map((value, i) => asArgument(value, syntax, indexes[i]!, kind)) };
}

/** A time zone, and the DuckDB text for using it; `$2` in the texts is the one of its `values`. */
export type ZoneForm = {
  readonly values: readonly BoundExpression[];
  readonly isUtc: boolean;
  /** The time on the wall clock, of a text that gives a TIMESTAMP. */
  civil(sql: string): string;
  /** The first instant at which the wall clock shows a time, of a text that gives a DATETIME. */
  instant(sql: string): string;
};

export const utc: ZoneForm = {
  values: [],
  isUtc: true,
  // The same as `timezone('UTC', …)`, which takes twenty times as long.
  civil: sql => `make_timestamp(epoch_us(${sql}))`,
  instant: sql => `timezone('UTC', ${sql})`,
};

/** The time zone of an optional argument; UTC if it is absent. */
export function zoneArgument(context: BindContext, syntax: CallSyntax, index: number): ZoneForm {
  return zoneForm(syntax.arguments[index] && argument(context, syntax, index, 'STRING'), syntax.at);
}

/**
 * The DuckDB text for a zone; DuckDB only knows names.
 * @throws GatewayError `invalid_query` for a constant that is not a zone; other values fail when the query runs
 */
export function zoneForm(value: BoundExpression | undefined, at: SqlPosition): ZoneForm {
  if (!value) return utc;
  if (value.kind !== 'literal') {
    return {
      values: [value],
      isUtc: false,
      civil: sql => `(timezone(bq_zone_name($2), ${sql}) + to_microseconds(bq_zone_offset($2)))`,
      instant: sql => `bq_instant(bq_zone_name($2), ${sql} - to_microseconds(bq_zone_offset($2)))`,
    };
  }
  const zone = readZone(value.value);
  if (!zone) throw invalidQuery(`Invalid time zone: ${value.value}`, at);
  if (zone.name === 'UTC' && zone.minutes === 0) return utc;
  const named = { values: [{ ...value, value: zone.name }], isUtc: false };
  if (zone.name !== 'UTC')
    return { ...named, civil: sql => `timezone($2, ${sql})`, instant: sql => `bq_instant($2, ${sql})` };
  const offset = `to_microseconds(${zone.minutes * 60_000_000})`;
  return {
    ...named,
    civil: sql => `(timezone('UTC', ${sql}) + ${offset})`,
    instant: sql => `timezone('UTC', ${sql} - ${offset})`,
  };
}

/** A TIMESTAMP as the wall clock of its zone shows it. */
export function civilTime(value: BoundExpression, zone: ZoneForm): BoundExpression {
  return timeCall('civil', zone.civil('$1'), [value, ...zone.values], 'DATETIME');
}
