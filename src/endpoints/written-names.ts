import { reservedWords } from '../googlesql/syntax/reserved-words.ts';

/** A column's name as SQL: in backquotes if it is a keyword. */
export function sqlColumnName(name: string): string {
  return reservedWords.has(name.toUpperCase()) ? `\`${name}\`` : name;
}

/** A name as a YAML key: in quotes if a parser might read it as another value. */
export function yamlKey(name: string): string {
  const isPlain = /^[A-Za-z_]\w*$/.test(name) && !/^(?:y|n|yes|no|on|off|true|false|null)$/i.test(name);
  return isPlain ? name : JSON.stringify(name);
}
