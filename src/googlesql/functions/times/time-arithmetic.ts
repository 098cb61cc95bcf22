import type { BindContext, SpecialFunction } from '../../tree/bind-context.ts';
import type { BoundExpression } from '../../tree/bound-tree.ts';
import { cast, coerce } from '../../tree/coercion.ts';
import { invalidQuery } from '../../tree/sql-error.ts';
import type { Expression } from '../../tree/syntax-tree.ts';
import { scalar } from '../../tree/types.ts';
import { datePart, fixedUnits, intervalTemplate, truncTemplate } from './date-parts.ts';
import { argumentsOfOneKind, arity, type DayKind, timeCall, utc } from './time-arguments.ts';

/** `…_ADD` and `…_SUB` of a kind: a value and an INTERVAL. */
export function shift(named: DayKind, sign: '+' | '-'): SpecialFunction {
  return (context, syntax) => {
    arity(syntax, 2, 2);
    const interval = intervalArgument(syntax.arguments[1]!);
    const { kind, values, isDate } = argumentsOfOneKind(context, syntax, [0], named);
    if (isDate && interval.part in fixedUnits && interval.part !== 'DAY')
      throw invalidQuery(
        `${named}_${sign === '+' ? 'ADD' : 'SUB'} does not support the ${interval.part} date part when the argument is DATE type`,
        interval.at,
      );
    const count = intervalCount(context, interval);
    const step = intervalTemplate(interval.part, kind, interval.at).replaceAll('$1', '$2');
    const plain = kind === 'DATE' ? `cast($1 ${sign} ${step} as date)` : `($1 ${sign} ${step})`;
    return timeCall(`${kind}_SHIFT`, `bq_ranged_${kind.toLowerCase()}(${plain})`, [values[0]!, count], kind);
  };
}

/** `…_DIFF` of a kind. TIMESTAMP_DIFF counts whole units elapsed; the others count boundaries crossed. */
export function difference(named: DayKind): SpecialFunction {
  return (context, syntax) => {
    arity(syntax, 3, 3);
    const { kind, values } = argumentsOfOneKind(context, syntax, [0, 1], named);
    const part = datePart(syntax.arguments[2], syntax.at);
    const unit = fixedUnits[part.name];
    if (kind === 'TIMESTAMP') {
      if (!unit) throw invalidQuery(`TIMESTAMP_DIFF does not support the ${part.name} date part`, syntax.at);
      return timeCall('TIMESTAMP_DIFF', `((epoch_us($1) - epoch_us($2)) // ${unit})`, values, 'INT64');
    }
    if (kind === 'DATE' && unit && part.name !== 'DAY') {
      throw invalidQuery(`DATE_DIFF does not support the ${part.name} date part`, syntax.at);
    }
    if (unit)
      return timeCall(`${kind}_DIFF`, `date_diff('${part.name.toLowerCase()}', $2, $1)`, values, 'INT64');
    const [later, earlier] = ['$1', '$2'].map(value =>
      truncTemplate(part, kind, utc, syntax.at).replaceAll('$1', value),
    );
    const isWeek = part.name === 'WEEK' || part.name === 'ISOWEEK';
    const template = isWeek
      ? `(date_diff('day', ${earlier}, ${later}) // 7)`
      : `date_diff('${part.name === 'ISOYEAR' ? 'isoyear' : part.name.toLowerCase()}', $2, $1)`;
    return timeCall(`${kind}_DIFF`, template, values, 'INT64');
  };
}

type IntervalSyntax = Extract<Expression, { kind: 'interval' }>;

/**
 * The argument of a call that must be written as an INTERVAL.
 * @throws GatewayError `invalid_query`
 */
export function intervalArgument(argument: Expression): IntervalSyntax {
  if (argument.kind !== 'interval') throw invalidQuery('Expected INTERVAL expression', argument.at);
  return argument;
}

/** How many units an INTERVAL has: an INT64, or digits in a literal. */
export function intervalCount(context: BindContext, interval: IntervalSyntax): BoundExpression {
  const count = context.binder.expression(context, interval.of);
  const isDigits =
    count.kind === 'literal' && count.type.kind === 'STRING' && /^\s*[+-]?\d+\s*$/.test(count.value);
  return isDigits
    ? cast(count, scalar('INT64'), false, interval.at)
    : coerce(count, scalar('INT64'), interval.at);
}
