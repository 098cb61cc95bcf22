import { lex, type Token } from './lexer.ts';
import { reservedWords } from './reserved-words.ts';

/**
 * Gives queries with the same tokens the same spelling: white space, comments and the letter case of reserved words make no difference.
 * For comparing, not for running: positions in errors refer to the text as it was sent.
 * @returns the text itself if it does not split into tokens
 */
export function spellAlike(sql: string): string {
  try {
    return lex(sql)
      .map((token, at, tokens) => spelling(sql, token, tokens[at - 1]))
      .join(' ');
  } catch {
    return sql;
  }
}

/** Whether a token is a reserved word used as such: after a dot it is a name, whose spelling the result shows. */
function spelling(sql: string, { keyword, start, end }: Token, before: Token | undefined): string {
  return reservedWords.has(keyword) && before?.value !== '.' ? keyword : sql.slice(start, end);
}
