import type { TypeSyntax } from '../tree/syntax-tree.ts';
import { rangeKinds, type ScalarKind } from '../tree/types.ts';
import type { TokenCursor } from './token-cursor.ts';

/** Every spelling of a scalar type. */
const scalarNames: Readonly<Record<string, ScalarKind>> = {
  STRING: 'STRING',
  BYTES: 'BYTES',
  BOOL: 'BOOL',
  BOOLEAN: 'BOOL',
  INT64: 'INT64',
  INT: 'INT64',
  INTEGER: 'INT64',
  BIGINT: 'INT64',
  SMALLINT: 'INT64',
  TINYINT: 'INT64',
  BYTEINT: 'INT64',
  FLOAT64: 'FLOAT64',
  NUMERIC: 'NUMERIC',
  DECIMAL: 'NUMERIC',
  BIGNUMERIC: 'BIGNUMERIC',
  BIGDECIMAL: 'BIGNUMERIC',
  TIMESTAMP: 'TIMESTAMP',
  DATETIME: 'DATETIME',
  DATE: 'DATE',
  TIME: 'TIME',
  JSON: 'JSON',
  INTERVAL: 'INTERVAL',
};

/** Postgres' names of types, which `::` takes: callers of self-hosted Supabase write `event_message::text`. */
const postgresNames: Readonly<Record<string, ScalarKind>> = {
  TEXT: 'STRING',
  VARCHAR: 'STRING',
  INT: 'INT64',
  INTEGER: 'INT64',
  BIGINT: 'INT64',
  FLOAT8: 'FLOAT64',
  NUMERIC: 'NUMERIC',
  BOOLEAN: 'BOOL',
  TIMESTAMP: 'TIMESTAMP',
  TIMESTAMPTZ: 'TIMESTAMP',
  DATE: 'DATE',
};

/** Reads `::text` and its like. */
export function parsePostgresType(cursor: TokenCursor): TypeSyntax {
  cursor.needSymbol(':');
  cursor.needSymbol(':');
  const { keyword, value, at } = cursor.peek();
  const type = Object.hasOwn(postgresNames, keyword) ? postgresNames[keyword] : undefined;
  if (!type) return cursor.fail(`Type not found: ${value}`, at);
  cursor.next();
  return { kind: 'scalar', type };
}

/** Reads a type. With `mayHaveLimits` it may stop before the bracket of `STRING(10)`. */
export function parseType(cursor: TokenCursor, { mayHaveLimits = false } = {}): TypeSyntax {
  const { keyword, value, at } = cursor.peek();
  if (cursor.takeKeyword('ARRAY')) {
    cursor.needSymbol('<');
    const element = cursor.nested(() => parseType(cursor));
    cursor.needClosingAngle();
    return { kind: 'array', element };
  }
  if (cursor.takeKeyword('STRUCT')) {
    cursor.needSymbol('<');
    const fields = cursor.list(() => cursor.nested(() => structField(cursor)));
    cursor.needClosingAngle();
    return { kind: 'struct', fields };
  }
  if (cursor.takeKeyword('RANGE')) {
    cursor.needSymbol('<');
    const element = parseType(cursor);
    const range = rangeKinds.find(kind => element.kind === 'scalar' && kind === `RANGE<${element.type}>`);
    if (!range) return cursor.fail('RANGE takes DATE, DATETIME or TIMESTAMP', at);
    cursor.needClosingAngle();
    return { kind: 'scalar', type: range };
  }
  const type = Object.hasOwn(scalarNames, keyword) ? scalarNames[keyword] : undefined;
  if (!type) return cursor.fail(`Type not found: ${value}`, at);
  cursor.next();
  if (cursor.isSymbol('(') && !mayHaveLimits) cursor.fail(`Parameterized types are not supported: ${type}`);
  return { kind: 'scalar', type };
}

function structField(cursor: TokenCursor): { name: string; type: TypeSyntax } {
  const isNamed = cursor.peek(1).kind === 'name';
  const name = isNamed ? cursor.identifier().name : '';
  return { name, type: parseType(cursor) };
}
