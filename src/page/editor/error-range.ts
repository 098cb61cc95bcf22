/** The word at an error's position, to be underlined; the whole text if the position is unknown. */
export function rangeOf(
  text: string,
  position: { readonly line: number; readonly column: number } | undefined,
): { readonly from: number; readonly to: number } {
  if (!position) return { from: 0, to: text.length };
  const lines = text.split('\n');
  const start = lines.slice(0, position.line - 1).reduce((sum, line) => sum + line.length + 1, 0);
  const from = Math.min(start + position.column - 1, text.length);
  const word = /^(?:[\w$]+(?:\.[\w$]+)*|`[^`]*`?|'[^']*'?|"[^"]*"?|\S)/.exec(text.slice(from))?.[0] ?? '';
  // At the end of the text, the last character stands for what is missing.
  return word === ''
    ? { from: Math.max(0, text.trimEnd().length - 1), to: text.length }
    : { from, to: from + word.length };
}
