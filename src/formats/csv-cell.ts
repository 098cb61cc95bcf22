/** Characters that make a spreadsheet treat text as a formula. Source: OWASP, "CSV Injection". */
const formulaStart = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/;

/** A signed number, which is not a formula. */
const number = /^[+-]\d+(?:\.\d+)?$/;

/** Text with a `'` in front if a spreadsheet would run it as a formula (decision 72). */
export function guardedText(text: string): string {
  return formulaStart.test(text) && !number.test(text) ? `'${text}` : text;
}

/** A cell of CSV, in quotes if it needs them; empty text is `""`, because an empty cell is NULL. */
export function quotedCell(text: string): string {
  return text === '' || /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
