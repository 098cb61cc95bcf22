import { invalidQuery } from '../tree/sql-error.ts';
import type { Identifier } from '../tree/syntax-tree.ts';
import { lex, type Token } from './lexer.ts';
import { reservedWords } from './reserved-words.ts';

/** Deeper nesting than this is refused; every level of a query is a few calls on the stack. */
export const maxDepth = 200;

/** A cursor over a token list, with the small tests that all grammar rules need. */
export type TokenCursor = ReturnType<typeof createTokenCursor>;

/** @throws GatewayError `invalid_query` when the text does not lex */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: one closure over the cursor, of small rules
export function createTokenCursor(text: string, maxTokens?: number) {
  const tokens = lex(text, maxTokens);
  let index = 0;
  let depth = 0;
  // Found once: searching at each level would read a long text 200 times.
  let closings: ReadonlyMap<number, number> | undefined;

  const peek = (ahead = 0): Token => tokens[Math.min(index + ahead, tokens.length - 1)]!;
  const isKeyword = (word: string, ...after: readonly string[]): boolean =>
    peek().keyword === word && after.every((next, i) => peek(i + 1).keyword === next);
  const isSymbol = (value: string, ahead = 0) => peek(ahead).kind === 'symbol' && peek(ahead).value === value;
  const isReserved = () => reservedWords.has(peek().keyword);
  const startsName = () => peek().kind === 'quotedName' || (peek().kind === 'name' && !isReserved());

  const fail = (message: string, at = peek().at): never => {
    throw invalidQuery(message, at);
  };
  const unexpected = (expected?: string): never => {
    const got = describe(peek());
    return fail(`Syntax error: ${expected ? `Expected ${expected} but got` : 'Unexpected'} ${got}`);
  };
  const next = (): Token => {
    const token = peek();
    index += 1;
    return token;
  };
  const takeKeyword = (word: string, ...after: readonly string[]): boolean => {
    if (!isKeyword(word, ...after)) return false;
    index += 1 + after.length;
    return true;
  };
  const takeSymbol = (value: string): boolean => {
    if (!isSymbol(value)) return false;
    index += 1;
    return true;
  };

  return {
    peek,
    next,
    isKeyword,
    isSymbol,
    isReserved,
    startsName,
    takeKeyword,
    takeSymbol,
    fail,
    unexpected,

    /** Whether the next word begins a query. */
    startsQuery: (ahead = 0): boolean =>
      ['SELECT', 'WITH', 'FROM'].includes(peek(ahead).keyword) &&
      !(peek(ahead).keyword === 'WITH' && isSymbol('(', ahead + 1)),

    /** Whether a query or pipe operator must end here. */
    endsQuery: (): boolean => peek().kind === 'end' || ['|>', ')', ';'].some(symbol => isSymbol(symbol)),

    needKeyword(word: string): void {
      if (!takeKeyword(word)) unexpected(`keyword ${word}`);
    },

    needSymbol(value: string): void {
      if (!takeSymbol(value)) unexpected(JSON.stringify(value));
    },

    /** `>` also where two type brackets close at once and read as `>>`: the second stays. */
    needClosingAngle(): void {
      if (isSymbol('>>')) {
        const { line, column } = peek().at;
        tokens[index] = { ...peek(), value: '>', at: { line, column: column + 1 } };
      } else this.needSymbol('>');
    },

    identifier(what = 'identifier'): Identifier {
      if (!startsName()) unexpected(what);
      return this.anyIdentifier();
    },

    /** After a dot a keyword is a name too: `t.order`. */
    anyIdentifier(): Identifier {
      if (peek().kind !== 'name' && peek().kind !== 'quotedName') unexpected('identifier');
      const { value, kind, at } = next();
      return { name: value, quoted: kind === 'quotedName', at };
    },

    /** Parses something between `(` and `)`. */
    inParentheses<Result>(rule: () => Result): Result {
      this.needSymbol('(');
      const result = rule();
      this.needSymbol(')');
      return result;
    },

    /** One or more between `(` and `)`, with commas. */
    listInParentheses<Item>(item: () => Item): Item[] {
      return this.inParentheses(() => this.list(item));
    },

    /** One or more, between commas. */
    list<Item>(item: () => Item): Item[] {
      const items = [item()];
      while (takeSymbol(',')) items.push(item());
      return items;
    },

    /** Runs a rule that may contain itself, one level down. */
    nested<Result>(rule: () => Result): Result {
      depth += 1;
      if (depth > maxDepth) fail('The query is nested too deeply');
      const result = rule();
      depth -= 1;
      return result;
    },

    /** The tokens after the parenthesis that closes the one under the cursor. */
    peekAfterClosing(count: number): readonly Token[] {
      closings ??= closingsOf(tokens);
      const ahead = (closings.get(index) ?? tokens.length) + 1 - index;
      return Array.from({ length: count }, (_, i) => peek(ahead + i));
    },
  };
}

/** The position of the closing parenthesis of each opening one; unclosed ones have none. */
function closingsOf(tokens: readonly Token[]): ReadonlyMap<number, number> {
  const closings = new Map<number, number>();
  const open: number[] = [];
  for (const [i, { kind, value }] of tokens.entries()) {
    if (kind !== 'symbol') continue;
    if (value === '(') open.push(i);
    else if (value === ')' && open.length > 0) closings.set(open.pop()!, i);
  }
  return closings;
}

function describe(token: Token): string {
  switch (token.kind) {
    case 'end':
      return 'end of script';
    case 'name':
      return reservedWords.has(token.keyword)
        ? `keyword ${token.keyword}`
        : `identifier ${JSON.stringify(token.value)}`;
    case 'string':
      return 'string literal';
    case 'integer':
      return `integer literal ${JSON.stringify(token.value)}`;
    case 'float':
      return `floating point literal ${JSON.stringify(token.value)}`;
    default:
      return JSON.stringify(token.value);
  }
}
