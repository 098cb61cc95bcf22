import { lex, type Token } from './lexer.ts';
import { reservedWords } from './reserved-words.ts';

/**
 * Spells queries of the same tokens alike: white space, comments and the letter case of reserved words make no difference. For
 * comparing, not for running: the positions in errors are those of the text as it was sent.
 * @returns the text itself where it does not split into tokens
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

/** After a dot a reserved word is a name, and the result shows it as it was written. */
function spelling(sql: string, { keyword, start, end }: Token, before: Token | undefined): string {
  return reservedWords.has(keyword) && before?.value !== '.' ? keyword : sql.slice(start, end);
}
