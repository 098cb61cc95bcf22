import type { SqlPosition } from '../../base/errors.ts';
import type { BindContext } from '../tree/bind-context.ts';
import type { BoundExpression } from '../tree/bound-tree.ts';
import { coerce, coercionCost } from '../tree/coercion.ts';
import { invalidQuery } from '../tree/sql-error.ts';
import type { CallSyntax } from '../tree/syntax-tree.ts';
import { type ScalarKind, scalar, typeName } from '../tree/types.ts';

/** The zone of what names none. */
export const utc: BoundExpression = { kind: 'literal', type: scalar('STRING'), value: 'UTC' };

/** A call that DuckDB spells with this template, of a scalar type. */
export function timeCall(
  name: string,
  template: string,
  values: readonly BoundExpression[],
  type: ScalarKind,
): BoundExpression {
  return { kind: 'call', name, template, arguments: values, type: scalar(type) };
}

/**
 * Refuses a call with fewer or more arguments than these.
 * @throws GatewayError `invalid_query`
 */
export function arity(syntax: CallSyntax, from: number, to: number): void {
  const count = syntax.arguments.length;
  if (count >= from && count <= to) return;
  const name = syntax.name.at(-1)?.name.toUpperCase();
  throw invalidQuery(`No matching signature for function ${name} with ${count} arguments`, syntax.at);
}

/** An argument of a given type; DATE and literals widen as everywhere. */
export function argument(
  context: BindContext,
  syntax: CallSyntax,
  index: number,
  kind: ScalarKind,
): BoundExpression {
  const value = context.binder.expression(context, syntax.arguments[index]!);
  if (coercionCost(value, scalar(kind)) === undefined) {
    const name = syntax.name.at(-1)?.name.toUpperCase();
    throw invalidQuery(
      `No matching signature for function ${name}: argument ${index + 1} is ${typeName(value.type)}, expected ${kind}`,
      syntax.arguments[index]!.at,
    );
  }
  return coerce(value, scalar(kind), syntax.at);
}

/** The time zone in an argument that may be absent: then it is UTC. */
export function zoneArgument(context: BindContext, syntax: CallSyntax, index: number): BoundExpression {
  return syntax.arguments[index] ? knownZone(argument(context, syntax, index, 'STRING'), syntax.at) : utc;
}

/**
 * A zone as DuckDB takes it, by name only.
 * @throws GatewayError `invalid_query` for an offset
 */
export function knownZone(zone: BoundExpression, at: SqlPosition): BoundExpression {
  if (zone.kind === 'literal' && /^\s*[+-]/.test(zone.value)) {
    throw invalidQuery(
      `A time zone as an offset is not supported: ${zone.value}; use a name as in Asia/Tokyo`,
      at,
    );
  }
  return zone;
}
