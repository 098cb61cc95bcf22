import { describe, expect, it } from 'vitest';
import { lex } from '../../../src/googlesql/syntax/lexer.ts';

const values = (text: string) => lex(text).map(({ kind, value }) => [kind, value]);
const first = (text: string) => lex(text)[0];

describe('the lexer', () => {
  it.each([
    [`'it''s'`, "it's"],
    [`"a\\tb"`, 'a\tb'],
    [`r'a\\nb'`, 'a\\nb'],
    [`'''a'b\nc'''`, "a'b\nc"],
    [`R"""x"y"""`, 'x"y'],
    [`'\\u00e9\\x41\\101'`, 'éAA'],
    [`''`, ''],
  ])('reads the string %s', (text, value) => {
    expect(first(text)).toMatchObject({ kind: 'string', value });
  });

  it('reads bytes as code units', () => {
    expect(first(String.raw`b'a\xff'`)).toMatchObject({ kind: 'bytes', value: 'a\u00ff' });
    expect(first("b'é'")).toMatchObject({ kind: 'bytes', value: 'Ã©' });
  });

  it('passes over all three kinds of comment', () => {
    expect(values('a -- x\n# y\n/* z\n * */ b')).toEqual([
      ['name', 'a'],
      ['name', 'b'],
      ['end', ''],
    ]);
  });

  it('tells a number from a dot that reaches into something', () => {
    expect(values('.5 a.5').map(([kind]) => kind)).toEqual(['float', 'name', 'symbol', 'integer', 'end']);
  });

  it.each([
    ["')'.5", ['string', 'float', 'end']],
    ['f(a).5', ['name', 'symbol', 'name', 'symbol', 'symbol', 'integer', 'end']],
    ['`a`.5', ['quotedName', 'symbol', 'integer', 'end']],
    ['1 .5', ['integer', 'float', 'end']],
  ])('asks what stands before the dot, not what it looks like: %s', (text, kinds) => {
    expect(values(text).map(([kind]) => kind)).toEqual(kinds);
  });

  it('ends a comment at a carriage return', () => {
    expect(values('a -- b\rc # d\re').map(([, value]) => value)).toEqual(['a', 'c', 'e', '']);
  });

  it('reads the escapes of a name in backquotes', () => {
    expect(lex('`\\x61\\u0062\\``')[0]).toMatchObject({ kind: 'quotedName', value: 'ab`' });
  });

  it("ends a parameter's name in backquotes where BigQuery does", () => {
    expect(values('@`a` @`a\\`b` c')).toEqual([
      ['parameter', 'a'],
      ['parameter', 'a`b'],
      ['name', 'c'],
      ['end', ''],
    ]);
  });

  it('counts lines and columns from one', () => {
    expect(lex('a\n  `b c`')[1]).toMatchObject({
      kind: 'quotedName',
      value: 'b c',
      at: { line: 2, column: 3 },
    });
  });

  it.each([
    ["'abc", 'Syntax error: Unclosed string literal at [1:1]'],
    ['a /* b', 'Syntax error: Unclosed comment at [1:3]'],
    ['`', 'Syntax error: Unclosed identifier literal at [1:1]'],
    ['a\n@``', 'Syntax error: Invalid empty identifier at [2:1]'],
    ["'\\q'", 'Syntax error: Illegal escape sequence: \\q at [1:1]'],
    ['1a', 'Syntax error: Missing whitespace between literal and alias at [1:1]'],
    ['a ! b', 'Syntax error: Illegal input character "!" at [1:3]'],
  ])('refuses %s with its position', (text, message) => {
    expect(() => lex(text)).toThrow(expect.objectContaining({ code: 'invalid_query', message }));
  });
});
