import { GraphQLError, Lexer, Source, TokenKind } from 'graphql';

const opening: ReadonlySet<TokenKind> = new Set([TokenKind.BRACE_L, TokenKind.BRACKET_L, TokenKind.PAREN_L]);
const closing: ReadonlySet<TokenKind> = new Set([TokenKind.BRACE_R, TokenKind.BRACKET_R, TokenKind.PAREN_R]);

/**
 * Refuses a document whose braces, brackets and parentheses are nested deeper than `max`. The parser and everything after it
 * call themselves for each level, and would run out of stack. Tokens are read one by one, so no depth harms this.
 * @param maxTokens a longer document is left to the parser, which refuses it
 * @throws GraphQLError: as `malformed`, or a syntax error of the lexer
 */
export function limitNesting(text: string, max: number, maxTokens: number): void {
  const lexer = new Lexer(new Source(text));
  let depth = 0;
  for (let tokens = 0; tokens < maxTokens; tokens++) {
    const { kind } = lexer.advance();
    if (kind === TokenKind.EOF) return;
    if (opening.has(kind)) depth++;
    else if (closing.has(kind)) depth--;
    if (depth > max) throw malformed(`The document is nested more than ${max} levels deep; allowed: ${max}`);
  }
}

/** What Yoga says of a request that has no document; `sameErrorCodes` makes it `invalid_graphql`, always with status 400. */
export function malformed(message: string): GraphQLError {
  return new GraphQLError(message, { extensions: { code: 'BAD_REQUEST', http: { status: 400 } } });
}
