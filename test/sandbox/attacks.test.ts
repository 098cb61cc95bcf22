import { describe, expect, it } from 'vitest';
import { GatewayError } from '../../src/base/errors.ts';
import { attacks, innocents } from './attacks.ts';
import { compileCaller } from './compile-caller.ts';

describe.each(attacks)('contract 4.5, 4.7, 4.8: refuses $idea', ({ statements, code }) => {
  it.each(statements)('%j', sql => {
    const refusal = refusalOf(sql);
    expect(code ? [code] : ['invalid_query', 'sandbox_refused']).toContain(refusal.code);
    expect(isWithin(sql, refusal.position)).toBe(true);
  });
});

it.each(innocents)('accepts %j', sql => {
  expect(() => compileCaller(sql)).not.toThrow();
});

it('a typo is no attack', () => {
  for (const sql of [
    'select nope from edge_logs',
    'select id fron edge_logs x y',
    'select lowerr(id) from edge_logs',
  ]) {
    expect(refusalOf(sql).code).toBe('invalid_query');
  }
});

function refusalOf(sql: string): GatewayError {
  try {
    compileCaller(sql);
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
  throw new Error('The statement was accepted');
}

/** The end of the text is a place too: what is missing is missing there. */
function isWithin(sql: string, position: GatewayError['position']): boolean {
  if (!position) return false;
  const line = sql.split('\n')[position.line - 1];
  return line !== undefined && position.column >= 1 && position.column <= line.length + 1;
}
