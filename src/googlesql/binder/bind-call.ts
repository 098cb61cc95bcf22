import { didYouMean } from '../../base/nearest-name.ts';
import { refusedFunctions, scalarFunctionRows, specialFunctions } from '../functions/all-functions.ts';
import { namedArguments } from '../functions/call-arguments.ts';
import { bindRow, rowsByName } from '../functions/function-row.ts';
import { aggregateRows, windowRows } from '../functions/functions-aggregate.ts';
import { isNested } from '../functions/nested-comparison.ts';
import { operator } from '../functions/operators.ts';
import { constantFault } from '../functions/texts/constant-fault.ts';
import { fixedUnits } from '../functions/times/date-parts.ts';
import { intervalArgument } from '../functions/times/time-arithmetic.ts';
import {
  warehouseAggregateRows,
  warehouseOptions,
  warehouseRows,
  warehouseRowsByName,
} from '../functions/warehouse-functions.ts';
import { type BindContext, type Binder, bindArguments, type SpecialFunction } from '../tree/bind-context.ts';
import { type BoundExpression, call as boundCall, unsupportedCall } from '../tree/bound-tree.ts';
import { unify } from '../tree/coercion.ts';
import { isPlainConstant, letIn } from '../tree/let-in.ts';
import { invalidQuery, sandboxRefused, UnsupportedSql } from '../tree/sql-error.ts';
import { unclearArray } from '../tree/storage.ts';
import type { CallSyntax, Expression } from '../tree/syntax-tree.ts';
import { scalar } from '../tree/types.ts';
import { bindAggregate } from './bind-aggregate.ts';

const scalarRows = rowsByName([...scalarFunctionRows, ...warehouseRows]);
const aggregates = rowsByName([...aggregateRows, ...warehouseAggregateRows]);
const windowFunctions = rowsByName(windowRows);

/** Functions that would reveal something outside of the query. So would those with dotted names: a user's function, a model, a remote one. */
const outsideFunctions: ReadonlySet<string> = new Set(['SESSION_USER', 'CURRENT_USER', 'EXTERNAL_QUERY']);

function* allNames(): Iterable<string> {
  for (const rows of [scalarRows, aggregates, windowFunctions]) {
    for (const name of rows.keys()) yield name.toLowerCase();
  }
  for (const name of Object.keys(specialFunctions)) yield name.toLowerCase();
}

/** Binds a call of a scalar, aggregate or analytic function. */
export function bindCall(context: BindContext, call: CallSyntax): BoundExpression {
  const parts = call.name.map(part => part.name.toUpperCase());
  const isSafe = parts.length > 1 && parts[0] === 'SAFE';
  const name = (isSafe ? parts.slice(1) : parts).join('.');
  const bound = isSafe
    ? bindSafe(context, { ...call, name: call.name.slice(1) }, name)
    : bindNamed(context, call, name);
  if (!bound && refusedFunctions.test(name)) throw invalidQuery(`Function ${name} is not supported`, call.at);
  if (!bound) {
    const written = call.name.map(part => part.name).join('.');
    const reachesOut = written.includes('.') || outsideFunctions.has(name);
    if (reachesOut) throw sandboxRefused(`Function not found: ${written}`, call.at);
    throw invalidQuery(`Function not found: ${written}${didYouMean(written, allNames())}`, call.at);
  }
  context.statement.functions.add(name);
  return bound;
}

/** NULL where the function fails, see `tryWith`. */
function bindSafe(context: BindContext, call: CallSyntax, name: string): BoundExpression | undefined {
  if (aggregates.has(name) || windowFunctions.has(name))
    throw invalidQuery(`Function ${name} does not support SAFE error mode`, call.at);
  const values: BoundExpression[] = [];
  const binder: Binder = {
    ...context.binder,
    expression(inner, argument) {
      const value = context.binder.expression({ ...inner, binder: context.binder }, argument);
      if (isPlainConstant(value)) return value;
      values.push(value);
      return { kind: 'named', type: value.type, value };
    },
  };
  const fault = constantFault(context, call, name);
  // A call that fails for every row has the type of one that does not.
  const whole = fault ? { ...call, arguments: call.arguments.with(fault.index, fault.instead) } : call;
  const bound = bindNamed({ ...context, binder }, whole, name);
  if (!bound) return undefined;
  if (fault) return { kind: 'null', type: bound.type };
  if (bound.kind === 'literal') return bound;
  const of = inRange(bound);
  const body: BoundExpression = { kind: 'try', type: of.type, of };
  return values.length === 0 ? body : { kind: 'let', type: of.type, values, body };
}

/** Makes dates and times beyond the years 1 to 9999 fail at once, for a call whose failure is caught; otherwise they fail when they are written. */
function inRange(value: BoundExpression): BoundExpression {
  const { type } = value;
  if (!['DATE', 'DATETIME', 'TIMESTAMP'].includes(type.kind)) return value;
  return boundCall('RANGED', `bq_ranged_${type.kind.toLowerCase()}($1)`, [value], type);
}

function bindNamed(context: BindContext, call: CallSyntax, name: string): BoundExpression | undefined {
  const aggregate = aggregates.get(name);
  const analytic = windowFunctions.get(name);
  if (aggregate || analytic) refuseNamed(call, name);
  if (aggregate) return bindAggregate(context, call, { name, rows: aggregate, mustHaveOver: false });
  if (analytic) return bindAggregate(context, call, { name, rows: analytic, mustHaveOver: true });
  const special = Object.hasOwn(specialFunctions, name) ? specialFunctions[name] : undefined;
  const rows = scalarRows.get(name);
  if (!special && !rows && name !== 'ARRAY_LENGTH') return undefined;
  refuseModifiers(call, name);
  if (special) return bindSpecial(context, call, { name, special });
  namedArguments(context, call, warehouseOptions[name] ?? {});
  const values = bindArguments(context, call);
  if (name === 'ARRAY_CONCAT' && values.some(value => value.kind === 'null' && value.type.kind === 'NULL'))
    throw invalidQuery('The argument to ARRAY_CONCAT must be an array type but was NULL', call.at);
  refuseStep(call, name);
  if (name === 'NULLIF' && values.length === 2 && values.some(({ type }) => isNested(type)))
    return nestedNullIf(values, call);
  if (rows) return bindRow(rows, `function ${name}`, values, call.at);
  const [of] = values;
  if (values.length === 1 && of?.kind === 'null' && of.type.kind === 'NULL')
    return { kind: 'null', type: scalar('INT64') };
  if (values.length !== 1 || of?.type.kind !== 'ARRAY') {
    throw invalidQuery('No matching signature for function ARRAY_LENGTH; it takes one ARRAY', call.at);
  }
  const unclear = unclearArray(of, 'ARRAY_LENGTH', call.at);
  if (unclear) return unsupportedCall(unclear, scalar('INT64'), [of]);
  return { kind: 'arrayLength', type: scalar('INT64'), of };
}

/** NULLIF of STRUCTs and ARRAYs. */
function nestedNullIf(values: readonly BoundExpression[], { at }: CallSyntax): BoundExpression {
  const unified = unify(values, 'function NULLIF', at);
  return letIn(unified.values[0]!, value => {
    const when = operator('=', [value, unified.values[1]!], at);
    const result: BoundExpression = { kind: 'null', type: unified.type };
    return { kind: 'case', type: unified.type, branches: [{ when, result }], otherwise: value };
  });
}

/** The step of an array of dates or times: an INTERVAL, of a part that the type has. */
function refuseStep({ arguments: [, , step], at }: CallSyntax, name: string): void {
  if (!/^GENERATE_(?:DATE|TIMESTAMP)_ARRAY$/.test(name) || !step) return;
  const { part } = intervalArgument(step);
  const isClock = part in fixedUnits;
  if (part !== 'DAY' && isClock === name.includes('DATE'))
    throw invalidQuery(`${name} does not support the ${part} date part`, at);
}

function refuseNamed({ named: [first] = [] }: CallSyntax, name: string): void {
  if (first)
    throw invalidQuery(
      `Named argument ${first.name.name} not found in signature for call to function ${name}`,
      first.name.at,
    );
}

/** If a special function has no DuckDB form for a call, the call may be one that only the warehouse answers. */
function bindSpecial(
  context: BindContext,
  call: CallSyntax,
  { name, special }: { name: string; special: SpecialFunction },
): BoundExpression {
  const rows = warehouseRowsByName.get(name);
  if (!rows) return special(context, call);
  // Arguments are bound once for both attempts.
  const bound = new Map<Expression, BoundExpression>();
  const binder: Binder = {
    ...context.binder,
    expression(inner, argument) {
      const value =
        bound.get(argument) ?? context.binder.expression({ ...inner, binder: context.binder }, argument);
      bound.set(argument, value);
      return value;
    },
  };
  const remembering = { ...context, binder };
  try {
    return special(remembering, call);
  } catch (error) {
    if (!(error instanceof UnsupportedSql)) throw error;
    namedArguments(remembering, call, warehouseOptions[name] ?? {});
    const values = bindArguments(remembering, call);
    return { ...bindRow(rows, `function ${name}`, values, call.at), unsupported: error.reason };
  }
}

function refuseModifiers(call: CallSyntax, name: string): void {
  if (call.over) throw invalidQuery(`The OVER clause is not allowed for function ${name}`, call.at);
  if (call.star) throw invalidQuery(`Argument * can only be used in COUNT(*), not in ${name}`, call.at);
  if (call.distinct || call.nulls || call.having || call.orderBy.length > 0 || call.limit) {
    throw invalidQuery(
      `Only aggregate functions take DISTINCT, NULLS, HAVING, ORDER BY and LIMIT, not ${name}`,
      call.at,
    );
  }
}
