import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { lex } from '../../../src/googlesql/syntax/lexer.ts';
import { spellAlike } from '../../../src/googlesql/syntax/spell-alike.ts';

const tokensOf = (sql: string) =>
  lex(sql).map(({ kind, value, keyword }) => [kind, kind === 'name' ? keyword : value]);

const piece = fc.oneof(
  fc.constantFrom(...'select FROM t Id a.Select x.5 .5 5. 1e3 0xF @p @@v `a b` || >> |> - -- # /*c*/ ( ) [ ] , ; = ='.split(' ')),
  fc.constantFrom("'a  b'", '"it\'s"', "r'\\\\n'", "b'x'", "'''a\nb'''", ' ', '\n', '\t', '-- c\n', '# c\r'),
); // biome-ignore format: a list

describe('queries spelt alike', () => {
  test('have the tokens that they had, and no others', () => {
    let texts = 0;
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), pieces => {
        const sql = pieces.join('');
        const alike = spellAlike(sql);
        expect(spellAlike(alike)).toBe(alike);
        if (alike === sql) return;
        texts++;
        expect(tokensOf(alike)).toEqual(tokensOf(sql));
      }),
      { numRuns: 2000 },
    );
    expect(texts).toBeGreaterThan(500);
  });

  test.each([
    ['select a', 'SELECT  a -- b'],
    ["select 'A' from t where x is not null", "Select 'A'\nFrom t Where x Is Not Null"],
    ['select(1)', 'select ( 1 )'],
    ["select '.' from t", "select '.' FROM t"],
  ])('are equal where they mean the same: %s', (one, other) => {
    expect(spellAlike(one)).toBe(spellAlike(other));
  });

  test.each([
    ['select a', 'select A'],
    ["select 'a'", "select 'A'"],
    ['select t.end', 'select t.END'],
    ['select a b', 'select ab'],
    ['select a.5', 'select a .5'],
    ['select 1 as date', 'select 1 as DATE'],
    ['select "a"', "select 'a'"],
    ["select 'a b'", "select 'a  b'"],
    ['select @p', 'select @P'],
  ])('differ where the rows or their names may: %s', (one, other) => {
    expect(spellAlike(one)).not.toBe(spellAlike(other));
  });

  test('are as they were where they are no SQL', () => {
    expect(spellAlike("select 'open")).toBe("select 'open");
  });
});
