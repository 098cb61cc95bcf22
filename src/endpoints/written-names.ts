import { reservedWords } from '../googlesql/syntax/reserved-words.ts';

/** A column's name as SQL takes it: in backquotes where it is a word of SQL's own. */
export function sqlColumnName(name: string): string {
  return reservedWords.has(name.toUpperCase()) ? `\`${name}\`` : name;
}

/** A name as a key of YAML: in quotes where some reader takes it for another value. */
export function yamlKey(name: string): string {
  const isPlain = /^[A-Za-z_]\w*$/.test(name) && !/^(?:y|n|yes|no|on|off|true|false|null)$/i.test(name);
  return isPlain ? name : JSON.stringify(name);
}
