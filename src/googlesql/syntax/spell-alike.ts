import { scanNext, startScan } from './lexer.ts';
import { reservedWords } from './reserved-words.ts';

/**
 * Gives queries with the same tokens the same spelling: white space, comments and the letter case of reserved words make no difference.
 * For comparing, not for running: positions in errors refer to the text as it was sent.
 * @returns the text itself if it does not split into tokens
 */
export function spellAlike(sql: string): string {
  try {
    const spelled: string[] = [];
    const scan = startScan(sql);
    let isAfterDot = false;
    while (scanNext(scan) !== 'end') {
      const { kind, value, start, end } = scan;
      // After a dot a reserved word is a name, whose spelling the result shows.
      spelled.push(kind === 'name' && !isAfterDot ? spelling(value) : sql.slice(start, end));
      isAfterDot = kind === 'symbol' && value === '.';
    }
    return spelled.join(' ');
  } catch {
    return sql;
  }
}

function spelling(name: string): string {
  const word = name.toUpperCase();
  return reservedWords.has(word) ? word : name;
}
