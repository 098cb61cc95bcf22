/** How a CSV text is written. */
export type CsvDialect = {
  /** One character. */
  readonly delimiter: string;
  /** One character; empty: nothing is quoted. */
  readonly quote: string;
  /** The character before a quote that is part of a value. */
  readonly escape: string;
};

/** A record: its values as text. */
export type CsvRecord = {
  /** The line on which it begins, counted from 1. */
  readonly line: number;
  readonly cells: readonly string[];
  /** Its original text, if a quote in it is never closed; such a record ends with its line. */
  readonly unclosed?: string | undefined;
};

/** Characters at the start of a text that decide whether lines end with CR alone. */
const firstCharacters = 64 * 1024;

/** Maximum characters of a record: a quote that is open for longer counts as never closed. */
const maxRecord = 16 * 1024 * 1024;

/**
 * Splits a CSV text into records, empty lines left out. Lines end with LF, CRLF or both in one text; CR alone counts if the first 64 Ki
 * characters have no LF.
 */
export async function* readCsvRecords(
  parts: AsyncIterable<string>,
  dialect: CsvDialect,
): AsyncIterable<CsvRecord> {
  let text = '';
  let line = 1;
  let lineEnd: '\n' | '\r' | undefined;
  function* take(isLast: boolean): Iterable<CsvRecord> {
    // A part may end between the two of a CRLF.
    if (!lineEnd && !isLast && text.length < firstCharacters && !text.includes('\n')) return;
    lineEnd ??= text.includes('\r') && !text.includes('\n') ? '\r' : '\n';
    let from = 0;
    while (from < text.length) {
      const found = readRecord(text, from, { ...dialect, lineEnd, isLast });
      if (!found) break;
      if (found.cells.length > 1 || found.cells[0] !== '') {
        yield {
          line,
          cells: found.cells,
          unclosed: found.isUnclosed ? text.slice(from, found.end) : undefined,
        };
      }
      for (let at = from; ; ) {
        at = text.indexOf(lineEnd, at) + 1;
        if (at === 0 || at > found.end) break;
        line++;
      }
      from = found.end;
    }
    text = text.slice(from);
  }
  for await (const part of parts) {
    text += part;
    yield* take(false);
  }
  yield* take(true);
}

type Found = { readonly cells: string[]; readonly end: number; readonly isUnclosed?: boolean };

type RecordOptions = CsvDialect & { readonly lineEnd: '\n' | '\r'; readonly isLast: boolean };

/** @returns undefined if the text ends before the record does */
function readRecord(text: string, from: number, options: RecordOptions): Found | undefined {
  const { delimiter, quote, lineEnd, isLast } = options;
  const end = text.indexOf(lineEnd, from);
  if (end < 0 && !isLast) return undefined;
  const line = text.slice(from, end < 0 ? text.length : end);
  const after = end < 0 ? text.length : end + 1;
  // Most lines have no quote.
  if (quote === '' || !line.includes(quote)) return { cells: withoutCr(line).split(delimiter), end: after };
  const quoted = readQuoted(text, from, options);
  if (quoted) return quoted;
  if (!isLast && text.length - from < maxRecord) return undefined;
  return { cells: [], end: after, isUnclosed: true };
}

function withoutCr(line: string): string {
  return line.endsWith('\r') ? line.slice(0, -1) : line;
}

/** Reads a record with quotes; undefined if one of them is not closed in the text, or if the text ends before the record may. */
function readQuoted(
  text: string,
  from: number,
  { delimiter, quote, escape: escaping, lineEnd, isLast }: RecordOptions,
): Found | undefined {
  const cells: string[] = [];
  let at = from;
  for (;;) {
    let cell = '';
    if (text[at] === quote) {
      at++;
      for (;;) {
        const char = text[at];
        if (char === undefined) return undefined;
        const isEscape = char === escaping && text[at + 1] === quote;
        if (isEscape) at++;
        else if (char === quote) break;
        cell += text[at++];
      }
      at++;
    }
    // Text after the closing quote is part of the value, and so are quotes in that text.
    const start = at;
    while (at < text.length && text[at] !== delimiter && text[at] !== lineEnd) at++;
    // The next part may continue the value, or turn a quote at the end of this part into an escape.
    if (at === text.length && !isLast) return undefined;
    const isEnd = text[at] !== delimiter;
    const rest = text.slice(start, at);
    cells.push(cell + (isEnd ? withoutCr(rest) : rest));
    at++;
    if (isEnd) return { cells, end: Math.min(at, text.length) };
  }
}

const delimiters = [',', ';', '\t', '|'];

/** Number of records from which the delimiter is guessed. */
const enough = 50;

/**
 * Guesses the delimiter of a text: the one that divides most lines into as many values as the first line, and into the most values.
 * @returns the comma for lines of one value
 */
export async function findDelimiter(head: string, quote = '"'): Promise<string> {
  let best = { delimiter: ',', share: 0, values: 1 };
  for (const delimiter of delimiters) {
    const lengths: number[] = [];
    // The last record may be incomplete.
    const whole = head.slice(0, head.lastIndexOf('\n') + 1) || head;
    for await (const { cells } of readCsvRecords(single(whole), { delimiter, quote, escape: quote })) {
      if (lengths.push(cells.length) === enough) break;
    }
    const [first = 1] = lengths;
    const shareOf = (values: number) => lengths.filter(length => length === values).length / lengths.length;
    // After lines that are not rows, such as a title, most lines have the same number of values.
    const values = first > 1 ? first : (lengths.find(length => shareOf(length) > 0.5) ?? 1);
    if (values < 2) continue;
    const share = shareOf(values);
    if (share > best.share || (share === best.share && values > best.values))
      best = { delimiter, share, values };
  }
  return best.delimiter;
}

async function* single(text: string): AsyncIterable<string> {
  yield text;
}
