import { z } from 'zod';
import { GatewayError } from '../../base/errors.ts';
import type { Column } from '../../base/rows.ts';
import type { Turns } from '../../base/turns.ts';
import { resultTooLarge } from '../../engine/result-too-large.ts';
import { answerSoFar, type ResultsAnswer, resultsAnswer } from './bigquery-answers.ts';
import { BigQueryFailure } from './bigquery-failure.ts';
import { createJsonReader, type JsonHandler } from './json-reader.ts';
import { columnsOf } from './render-value.ts';
import { createRowRenderer, type RenderedRows, type RowRenderer } from './row-renderer.ts';
import { createValueBuilder } from './value-builder.ts';

/** How a page is read. */
export type PageRequest = {
  /** The columns of earlier pages. Default: those of the page's own schema. */
  readonly columns?: readonly Column[] | undefined;
  /** Our names for unnamed columns: see `columnsOf`. */
  readonly ours: readonly Column[];
  /** Maximum rows; the rest is dropped. */
  readonly maxRows: number;
  /** Maximum bytes of rendered rows of this page. */
  readonly roomBytes: number;
  /** The whole limit, of which `roomBytes` is left; for the error message. */
  readonly maxResultBytes: number;
  /** Called with the bytes held so far, each time more have arrived; reading waits for its promise. */
  readonly onHeld?: (bytes: number) => Promise<void> | undefined;
};

/** One answer of `jobs.getQueryResults`. */
export type Page = {
  readonly answer: ResultsAnswer;
  /** Undefined if the rows came before the schema: read the page again, with the columns of `answer`. */
  readonly rows: RenderedRows | undefined;
};

/** Maximum bytes of one value: it is rendered in one piece, which holds the event loop. */
const maxValueBytes = 16 * 1024 * 1024;

/**
 * The first bytes of a page, which are read without waiting for a slice: otherwise a small page would wait for several, because large
 * ones use them up.
 */
const smallBytes = 64 * 1024;

/** Maximum bytes of a page besides its rows: more than the widest schema that BigQuery allows. */
const maxEnvelopeBytes = 8 * 1024 * 1024;

/**
 * Reads one page as its bytes arrive, and renders its rows at once: only rendered rows are held, and reading ends when they
 * exceed the limit.
 * @param turns shared by all pages that are read at the same time: a stream that always has data would block the event loop
 * @throws GatewayError `result_too_large`; BigQueryFailure `brokenAnswer` if the answer is not a page
 */
export async function readPage(
  body: AsyncIterable<Buffer>,
  request: PageRequest,
  turns: Turns,
): Promise<Page> {
  const page = createPageHandler(request);
  const reader = createJsonReader(page.handler);
  let [readBytes, envelopeBytes] = [0, 0];
  try {
    for await (const chunk of body) {
      // Checked again after each wait: another page may have used up the slice.
      while (readBytes > smallBytes && turns.isOver()) await turns.next();
      readBytes += chunk.length;
      reader.push(chunk);
      if (reader.heldBytes() > maxValueBytes) throw valueTooLarge();
      const heldBytes = page.renderedBytes() + reader.heldBytes();
      if (heldBytes > request.roomBytes) throw resultTooLarge(request.maxResultBytes);
      if (!page.isInRows()) envelopeBytes += chunk.length;
      if (envelopeBytes > maxEnvelopeBytes)
        throw broken(`A page has over ${maxEnvelopeBytes} bytes beside its rows`);
      await request.onHeld?.(heldBytes);
    }
    reader.end();
  } catch (error) {
    if (error instanceof SyntaxError) throw broken(error.message);
    throw error;
  }
  return page.finish();
}

function valueTooLarge(): GatewayError {
  return new GatewayError(
    'result_too_large',
    `A value of the result is too large; allowed: ${maxValueBytes} bytes`,
  );
}

/** Passes the rows to a renderer, and everything else to a builder of the rest of the answer. */
function createPageHandler({ columns, ours, maxRows }: PageRequest) {
  const envelope = createValueBuilder();
  let depth = 0;
  let topKey = '';
  /** Number of open objects and arrays within the rows, including the array of rows itself. */
  let rowsDepth = 0;
  let rows: RowRenderer | undefined;
  let hasUnknownRows = false;
  /** The current receiver: the builder, or within the rows the renderer. */
  let target: JsonHandler = envelope;

  function openRows(): void {
    envelope.open('[');
    rowsDepth = 1;
    const known = columns ?? columnsIn(envelope.value(), ours);
    if (known) rows = createRowRenderer(known, maxRows);
    hasUnknownRows = known === undefined;
    target = rows ?? ignored;
  }

  function closeRows(): void {
    envelope.close();
    target = envelope;
  }

  const handler: JsonHandler = {
    open(bracket) {
      if (rowsDepth > 0) rowsDepth += 1;
      else if (depth === 1 && topKey === 'rows' && bracket === '[') return openRows();
      else depth += 1;
      target.open(bracket);
    },
    close() {
      if (rowsDepth > 0) rowsDepth -= 1;
      else depth -= 1;
      if (target !== envelope && rowsDepth === 0) closeRows();
      else target.close();
    },
    key(name) {
      if (depth === 1 && rowsDepth === 0) topKey = name;
      target.key(name);
    },
    string: value => target.string(value),
    longText: pieces => target.longText(pieces),
    literal: text => target.literal(text),
  };

  return {
    handler,
    isInRows: () => rowsDepth > 0,
    renderedBytes: () => rows?.byteCount() ?? 0,
    finish(): Page {
      const read = resultsAnswer.safeParse(envelope.value());
      if (!read.success) throw broken(z.prettifyError(read.error));
      if (hasUnknownRows) return { answer: read.data, rows: undefined };
      return { answer: read.data, rows: (rows ?? createRowRenderer([])).finish() };
    },
  };
}

const ignored: JsonHandler = {
  open: () => undefined,
  close: () => undefined,
  key: () => undefined,
  string: () => undefined,
  longText: () => undefined,
  literal: () => undefined,
};

/** The columns in the schema of an answer, which has been read up to its rows. */
function columnsIn(answer: unknown, ours: readonly Column[]): readonly Column[] | undefined {
  const read = answerSoFar.safeParse(answer);
  return read.data?.schema && columnsOf(read.data.schema.fields, ours);
}

function broken(message: string): BigQueryFailure {
  return new BigQueryFailure('brokenAnswer', message);
}
