/** Escapes characters that could control the terminal: rows may contain text from strangers. */
export function printable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, ' ');
}

/** The same for several lines. */
export const printableLines = (text: string): string => text.split('\n').map(printable).join('\n');
