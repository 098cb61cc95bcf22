import type { BoundAggregate, BoundExpression, BoundQuery, BoundWindow } from './bound-tree.ts';
import type { SqlType } from './types.ts';
import { childrenOf } from './walk-bound-tree.ts';

/** Returns the same number for two expressions exactly if they have the same value in every row. */
export type KeyOf = (expression: BoundExpression) => number;

/**
 * Makes the numbers for one statement. Each expression is examined once: in larger expressions its number stands for it. Queries are equal
 * only if they are the same object, because otherwise their relations differ.
 */
export function createExpressionKeys(): KeyOf {
  const known = new WeakMap<BoundExpression, number>();
  const queries = new WeakMap<BoundQuery, number>();
  const numbers = new Map<string, number>();
  let lastQuery = 0;

  function keyOf(expression: BoundExpression): number {
    const found = known.get(expression);
    if (found !== undefined) return found;
    // No part holds NUL.
    const text = `${expression.kind}\0${own(expression)}\0${childrenOf(expression).map(keyOf).join()}`;
    const key = numbers.get(text) ?? numbers.size;
    numbers.set(text, key);
    known.set(expression, key);
    return key;
  }
  return keyOf;

  /** What distinguishes an expression from others of its kind with the same children. */
  function own(expression: BoundExpression): string | number | boolean {
    switch (expression.kind) {
      case 'literal':
        return JSON.stringify([expression.type.kind, expression.value]);
      case 'null':
      case 'array':
        return typeKey(expression.type);
      case 'parameter':
        return expression.name;
      case 'column':
        return `${expression.relation}.${expression.index}`;
      case 'field':
        return JSON.stringify(expression.name);
      case 'struct':
        return JSON.stringify(expression.type.fields.map(({ name }) => name));
      case 'jsonValue':
        return expression.steps;
      case 'element':
        return expression.safe;
      case 'cast':
        return `${typeKey(expression.type)} ${expression.safe}`;
      case 'case':
        return expression.otherwise !== undefined;
      case 'let':
        return expression.values.length;
      case 'named':
        return keyOf(expression.value);
      case 'call':
        return JSON.stringify([expression.name, expression.template]);
      case 'aggregate':
        return JSON.stringify(ownOfAggregate(expression));
      case 'subquery':
        return `${expression.form} ${queryKey(expression.query)}`;
      case 'inQuery':
        return queryKey(expression.query);
      default:
        return '';
    }
  }

  function queryKey(query: BoundQuery): number {
    const found = queries.get(query);
    if (found !== undefined) return found;
    lastQuery += 1;
    queries.set(query, lastQuery);
    return lastQuery;
  }
}

function ownOfAggregate(aggregate: BoundAggregate): unknown {
  const { name, template, distinct, ignoreNulls, filter, arguments: values, over } = aggregate;
  const order = aggregate.orderBy.map(({ descending, nulls }) => [descending, nulls]);
  return [name, template, distinct, ignoreNulls, values.length, filter !== undefined, order, windowOf(over)];
}

function windowOf(window: BoundWindow | undefined): unknown {
  if (!window) return undefined;
  const { partitionBy, orderBy, frame } = window;
  return [partitionBy.length, orderBy.map(({ descending, nulls }) => [descending, nulls]), frame];
}

const typeKeys = new WeakMap<SqlType, string>();

/** A type as a text; storage counts. */
function typeKey(type: SqlType): string {
  if (type.kind === 'ARRAY') return `[${type.single} ${type.nulls} ${typeKey(type.element)}]`;
  if (type.kind !== 'STRUCT') return type.kind;
  const found = typeKeys.get(type);
  if (found !== undefined) return found;
  const fields = type.fields.map(field => `${JSON.stringify(field.name)} ${typeKey(field.type)}`);
  const key = `{${type.presence} ${fields.join(' ')}}`;
  typeKeys.set(type, key);
  return key;
}
