import type { Column, ColumnType } from '../../base/rows.ts';
import { type JsonHandler, textOf } from './json-reader.ts';
import { isCopied, misfit, renderValue } from './render-value.ts';

/** Rows in the wire form, as pieces of one JSON array without its brackets. */
export type RenderedRows = {
  readonly pieces: readonly Buffer[];
  readonly rowCount: number;
  readonly byteCount: number;
  /** Rows that were read, including those beyond `maxRows`. */
  readonly rowsSeen: number;
};

/** Turns the parts of `"rows": […]` into rendered rows; it receives everything inside the array's brackets. */
export type RowRenderer = JsonHandler & {
  /** Bytes rendered so far, including incomplete rows and rows that are dropped: they were read. */
  byteCount(): number;
  finish(): RenderedRows;
};

/** A column with its key as JSON text, made once for all rows. */
type KeyedColumn = {
  readonly key: string;
  readonly type: ColumnType;
  readonly isRepeated: boolean;
  readonly fields: readonly KeyedColumn[];
};

/** What the reader is inside of: BigQuery writes a record as `{"f":[cell, …]}`, a cell as `{"v":value}`. */
type Frame =
  | { readonly kind: 'record'; readonly columns: readonly KeyedColumn[]; cells: number; step: RecordStep }
  | { readonly kind: 'cell'; readonly column: KeyedColumn; readonly isRepeated: boolean; step: CellStep }
  | { readonly kind: 'list'; readonly column: KeyedColumn; elements: number };

type RecordStep = 'begun' | 'named' | 'cells' | 'whole';
type CellStep = 'begun' | 'named' | 'whole';

/**
 * Makes a renderer of rows, `{"f":[{"v":…}]}`, into the wire form of contract 2.12. Rows are rendered as they are read:
 * neither they nor their values are ever held as objects.
 * @param maxRows further rows are checked and dropped
 */
export function createRowRenderer(
  columns: readonly Column[],
  maxRows = Number.POSITIVE_INFINITY,
): RowRenderer {
  const to: Rendering = { frames: [], pieces: createPieces(maxRows) };
  const rowColumns = keyColumns(columns);
  return {
    open: bracket => (bracket === '{' ? openObject(to, rowColumns) : openArray(to)),
    close: () => close(to),
    key: name => readKey(to.frames.at(-1), name),
    string(value) {
      writeScalar(to, 'a text', ({ type }, isRepeated) => {
        if (isRepeated) throw misfit('an array', 'a text');
        return renderValue(type, value);
      });
    },
    longText(parts) {
      writeScalar(to, 'a text', ({ type }, isRepeated) => {
        if (isRepeated) throw misfit('an array', 'a text');
        if (!isCopied(type)) return renderValue(type, textOf(parts));
        to.pieces.write('"');
        to.pieces.writeBytes(parts);
        return '"';
      });
    },
    literal(word) {
      writeScalar(to, 'a literal', ({ type }, isRepeated) => {
        if (word !== 'null') throw misfit(isRepeated ? 'an array' : type, 'a literal');
        return isRepeated ? '[]' : 'null';
      });
    },
    byteCount: to.pieces.byteCount,
    finish: to.pieces.finish,
  };
}

type Rendering = { readonly frames: Frame[]; readonly pieces: ReturnType<typeof createPieces> };

/** Characters that are buffered before they become bytes. */
const pieceLength = 64 * 1024;

/** Buffers the text of rows as bytes. */
function createPieces(maxRows: number) {
  const pieces: Buffer[] = [];
  let text = '';
  let pieceBytes = 0;
  let leftOutBytes = 0;
  let rowsSeen = 0;

  function flush(): void {
    if (text !== '') push(text);
    text = '';
  }

  function push(more: string): void {
    const piece = Buffer.from(more);
    pieces.push(piece);
    pieceBytes += piece.length;
  }

  return {
    rowsSeen: () => rowsSeen,
    write(more: string): void {
      if (rowsSeen >= maxRows) {
        leftOutBytes += more.length;
        return;
      }
      if (more.length >= pieceLength) {
        // Not joined with the buffered text: that would copy it.
        flush();
        push(more);
        return;
      }
      text += more;
      if (text.length >= pieceLength) flush();
    },
    writeBytes(parts: readonly Buffer[]): void {
      const bytes = parts.reduce((sum, { length }) => sum + length, 0);
      if (rowsSeen >= maxRows) {
        leftOutBytes += bytes;
        return;
      }
      flush();
      pieces.push(...parts);
      pieceBytes += bytes;
    },
    endRow(): void {
      rowsSeen += 1;
    },
    // A buffered character counts as one byte; longer ones are corrected when the buffer is encoded.
    byteCount: () => pieceBytes + text.length + leftOutBytes,
    finish(): RenderedRows {
      flush();
      return { pieces, rowCount: Math.min(rowsSeen, maxRows), byteCount: pieceBytes, rowsSeen };
    },
  };
}

function openObject({ frames, pieces }: Rendering, rowColumns: readonly KeyedColumn[]): void {
  const frame = frames.at(-1);
  if (!frame) {
    pieces.write(pieces.rowsSeen() === 0 ? '{' : ',{');
    frames.push({ kind: 'record', columns: rowColumns, cells: 0, step: 'begun' });
  } else if (frame.kind === 'record' && frame.step === 'cells') {
    const column = frame.columns[frame.cells];
    if (!column) throw misfit('the end of the record', 'one more cell');
    pieces.write((frame.cells === 0 ? '' : ',') + column.key);
    frames.push({ kind: 'cell', column, isRepeated: column.isRepeated, step: 'begun' });
  } else if (frame.kind === 'list') {
    if (frame.elements > 0) pieces.write(',');
    frames.push({ kind: 'cell', column: frame.column, isRepeated: false, step: 'begun' });
  } else if (takesValue(frame) && !frame.isRepeated && frame.column.type === 'STRUCT') {
    pieces.write('{');
    frames.push({ kind: 'record', columns: frame.column.fields, cells: 0, step: 'begun' });
  } else {
    throw misfit(expectedIn(frame), 'a record');
  }
}

function openArray({ frames, pieces }: Rendering): void {
  const frame = frames.at(-1);
  if (frame?.kind === 'record' && frame.step === 'named') {
    frame.step = 'cells';
  } else if (frame && takesValue(frame) && frame.isRepeated) {
    pieces.write('[');
    frames.push({ kind: 'list', column: frame.column, elements: 0 });
  } else {
    throw misfit(expectedIn(frame), 'an array');
  }
}

function close({ frames, pieces }: Rendering): void {
  const frame = frames.at(-1)!;
  if (frame.kind === 'record' && frame.step === 'cells') {
    if (frame.cells < frame.columns.length) throw misfit('one more cell', 'the end of the record');
    frame.step = 'whole';
    return;
  }
  if (frame.kind !== 'list' && frame.step !== 'whole') throw misfit(`a ${frame.kind}`, 'half of one');
  frames.pop();
  const parent = frames.at(-1);
  if (frame.kind !== 'cell') pieces.write(frame.kind === 'record' ? '}' : ']');
  if (!parent) pieces.endRow();
  else if (parent.kind === 'cell') parent.step = 'whole';
  else if (parent.kind === 'record') parent.cells += 1;
  else parent.elements += 1;
}

function readKey(frame: Frame | undefined, name: string): void {
  if (
    frame &&
    frame.kind !== 'list' &&
    frame.step === 'begun' &&
    name === (frame.kind === 'record' ? 'f' : 'v')
  ) {
    frame.step = 'named';
  } else {
    throw misfit(expectedIn(frame), 'another member');
  }
}

function writeScalar(
  { frames, pieces }: Rendering,
  found: string,
  render: (column: KeyedColumn, isRepeated: boolean) => string,
): void {
  const frame = frames.at(-1);
  if (!frame || !takesValue(frame)) throw misfit(expectedIn(frame), found);
  pieces.write(render(frame.column, frame.isRepeated));
  frame.step = 'whole';
}

function keyColumns(columns: readonly Column[]): KeyedColumn[] {
  return columns.map(({ name, type, mode, fields = [] }) => ({
    key: `${JSON.stringify(name)}:`,
    type,
    isRepeated: mode === 'REPEATED',
    fields: keyColumns(fields),
  }));
}

function takesValue(frame: Frame): frame is Extract<Frame, { kind: 'cell' }> {
  return frame.kind === 'cell' && frame.step === 'named';
}

function expectedIn(frame: Frame | undefined): string {
  if (!frame) return 'a row';
  if (frame.kind !== 'cell') return `a ${frame.kind}`;
  return frame.isRepeated ? 'an array' : frame.column.type;
}
