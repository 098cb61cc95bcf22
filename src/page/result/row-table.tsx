import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { type Column, isNumeric, isRepeated } from '../api/catalogue.ts';
import type { Row } from '../api/client.ts';
import { writeExactJson } from '../api/exact-json.ts';
import { CopyButton } from '../copy-button.tsx';
import { formatCell } from './format.ts';
import { JsonTree } from './json-tree.tsx';
import { levelOf, wordsOf } from './level.ts';
import { type Order, ordered } from './order-rows.ts';
import { type Shape, useShape } from './table-shape.ts';

type RowTableProps = { readonly columns: readonly Column[]; readonly rows: readonly Row[] };

/** Pixels; the style sheet has the same ones. */
const detailsHeight = 300;

/** Rows drawn beyond the visible ones, so that scrolling shows no gap. */
const overscan = 10;

/**
 * A table that draws only the rows in view, so that a hundred thousand cost what fifty do. It is a grid by ARIA, because rows of an HTML
 * table can't be positioned individually. The grid has the focus, and handles the keys of its active row.
 */
export function RowTable({ columns, rows: given }: RowTableProps) {
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const height = useHeight(box);
  const [order, setOrder] = useState<Order>();
  const rows = useMemo(() => ordered(given, columns, order), [given, columns, order]);
  const shape = useShape(columns, given);
  const { open, openAt, toggle } = useOpen(rows);
  const layout = layoutOf(rows.length, openAt, shape.rowHeight);
  const { active, setActive, press } = useActive({ box, rows, shape, layout, height, toggle });
  useSteadyView({ box, given, rows, layout, top, setTop });

  const [first, last] = layout.between(
    top - overscan * shape.rowHeight,
    top + height + overscan * shape.rowHeight,
  );
  return (
    <div
      ref={box}
      class={`rows ${shape.isNarrow ? 'narrow' : ''}`}
      role="treegrid"
      tabIndex={0}
      aria-label="Rows"
      aria-rowcount={rows.length + 1}
      aria-colcount={shape.columns.length + (shape.hasLevel ? 1 : 0)}
      aria-activedescendant={
        rows.length > 0 && active >= first && active < last ? `row-${active}` : undefined
      }
      style={{ '--columns': shape.tracks }}
      onScroll={event => setTop(event.currentTarget.scrollTop)}
      onKeyDown={press}
    >
      <GridHead shape={shape} order={order} onOrder={setOrder} />
      <div class="rows-space" role="rowgroup" style={{ height: `${layout.offsetOf(rows.length)}px` }}>
        {rows.slice(first, last).map((row, index) => {
          const at = first + index;
          return (
            <GridRow
              key={at}
              at={at}
              row={row}
              shape={shape}
              top={layout.offsetOf(at)}
              isActive={at === active}
              isOpen={open.has(row)}
              onClick={() => {
                setActive(row);
                toggle(row);
              }}
            />
          );
        })}
      </div>
    </div>
  );
}

type Active = Pick<Place, 'box' | 'rows' | 'layout'> & {
  readonly shape: Shape;
  /** Pixels of what is in view. */
  readonly height: number;
  readonly toggle: (row: Row) => void;
};

/** The row that the keys are for. */
function useActive({ box, rows, shape, layout, height, toggle }: Active) {
  // The row, not its position: others may arrive above it.
  const [row, setActive] = useState<Row>();
  const active = Math.max(0, row ? rows.indexOf(row) : 0);
  const select = (at: number) => {
    setActive(rows[at]);
    const target = box.current;
    if (!target) return;
    const start = layout.offsetOf(at);
    // The head covers the height of one row.
    const least = start + 2 * shape.rowHeight - target.clientHeight;
    target.scrollTop = Math.max(least, Math.min(start, target.scrollTop));
  };
  const press = (event: KeyboardEvent) => {
    if (event.target !== box.current || rows.length === 0) return;
    const page = Math.max(1, Math.floor(height / shape.rowHeight) - 2);
    const next = rowAfter(event.key, active, { page, last: rows.length - 1 });
    if (next === undefined && event.key !== 'Enter') return;
    event.preventDefault();
    select(next ?? active);
    if (next === undefined) toggle(rows[active]!);
  };
  return { active, setActive, press };
}

type Place = {
  readonly box: { readonly current: HTMLElement | null };
  /** The rows as they came, and as they stand. */
  readonly given: readonly Row[];
  readonly rows: readonly Row[];
  readonly layout: ReturnType<typeof layoutOf>;
  /** Pixels above what is in view. */
  readonly top: number;
  readonly setTop: (top: number) => void;
};

/** Keeps the rows in view where they are when others come above them, unless the first row is in view. */
function useSteadyView({ box, given, rows, layout, top, setTop }: Place): void {
  const seen = useRef<{ readonly row: Row | undefined; readonly above: number }>(undefined);
  useLayoutEffect(() => {
    const at = seen.current?.row === undefined ? -1 : rows.indexOf(seen.current.row);
    if (at < 0 || top === 0 || !box.current) return;
    const next = layout.offsetOf(at) + seen.current!.above;
    if (next === top) return;
    box.current.scrollTop = next;
    setTop(box.current.scrollTop);
  }, [given]);
  useLayoutEffect(() => {
    const [at] = layout.between(top, top);
    seen.current = { row: rows[at], above: top - layout.offsetOf(at) };
  });
}

/** The rows whose details are shown. */
function useOpen(rows: readonly Row[]) {
  const [open, setOpen] = useState<ReadonlySet<Row>>(new Set());
  const openAt = useMemo(() => rows.flatMap((row, at) => (open.has(row) ? [at] : [])), [rows, open]);
  const toggle = (row: Row) => {
    const next = new Set(open);
    if (!next.delete(row)) next.add(row);
    setOpen(next);
  };
  return { open, openAt, toggle };
}

/** The row that a key leads to; undefined for other keys. */
function rowAfter(
  key: string,
  active: number,
  { page, last }: { page: number; last: number },
): number | undefined {
  const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page };
  if (key === 'Home') return 0;
  if (key === 'End') return last;
  const step = steps[key];
  return step === undefined ? undefined : Math.min(Math.max(active + step, 0), last);
}

type GridHeadProps = {
  readonly shape: Shape;
  readonly order: Order | undefined;
  readonly onOrder: (order: Order | undefined) => void;
};

/** The names of the columns. A click orders the rows by a column, a second one in reverse, a third one as they came. */
function GridHead({ shape, order, onOrder }: GridHeadProps) {
  const next = (column: string): Order | undefined => {
    if (order?.column !== column) return { column, direction: 'ascending' };
    return order.direction === 'ascending' ? { column, direction: 'descending' } : undefined;
  };
  const heads = shape.columns.map((column, at) => (
    <span
      key={column.name}
      role="columnheader"
      class={isNumeric(column) ? 'number' : ''}
      title={titleOf(column)}
      aria-label={column.name}
      aria-sort={order?.column === column.name ? order.direction : 'none'}
    >
      <button type="button" class="order" onClick={() => onOrder(next(column.name))}>
        {shape.heads[at]}
      </button>
    </span>
  ));
  const level = (
    <span key="level of the row" role="columnheader">
      level
    </span>
  );
  return (
    <div class="row row-head" role="row" aria-rowindex={1}>
      {shape.hasLevel ? [heads[0], level, ...heads.slice(1)] : heads}
    </div>
  );
}

function useHeight(box: { readonly current: HTMLElement | null }): number {
  const [height, setHeight] = useState(600);
  useEffect(() => {
    const target = box.current;
    if (!target) return;
    const resized = new ResizeObserver(() => setHeight(target.clientHeight));
    resized.observe(target);
    return () => resized.disconnect();
  }, []);
  return height;
}

type GridRowProps = {
  readonly at: number;
  readonly row: Row;
  readonly shape: Shape;
  /** Pixels from the first row. */
  readonly top: number;
  readonly isActive: boolean;
  readonly isOpen: boolean;
  readonly onClick: () => void;
};

function GridRow({ at, row, shape, top, isActive, isOpen, onClick }: GridRowProps) {
  const said = levelOf(row);
  const cells = shape.columns.map(column => (
    <span
      key={column.name}
      role="gridcell"
      class={`${isNumeric(column) ? 'number' : ''} ${row[column.name] === null ? 'null' : ''}`}
    >
      {formatCell(column, row[column.name])}
    </span>
  ));
  const level = (
    <span key="level of the row" role="gridcell" class="level">
      {said && wordsOf(said)}
    </span>
  );
  return (
    <div class="row-place" role="presentation" style={{ transform: `translateY(${top}px)` }}>
      <div
        id={`row-${at}`}
        class={`row ${said?.level ?? ''} ${isActive ? 'active' : ''}`}
        role="row"
        aria-rowindex={at + 2}
        aria-selected={isActive}
        aria-expanded={isOpen}
        onClick={onClick}
      >
        {shape.hasLevel ? [cells[0], level, ...cells.slice(1)] : cells}
      </div>
      {isOpen && <Details row={row} />}
    </div>
  );
}

/** The positions of rows, some of which are open. */
function layoutOf(count: number, openAt: readonly number[], rowHeight: number) {
  const offsetOf = (at: number) => at * rowHeight + openAt.filter(open => open < at).length * detailsHeight;
  return {
    offsetOf,
    /** The rows between two heights, from the first to before the last. */
    between(top: number, bottom: number): readonly [number, number] {
      let first = Math.max(0, Math.floor((top - openAt.length * detailsHeight) / rowHeight));
      while (first < count && offsetOf(first + 1) < top) first++;
      let last = first;
      while (last < count && offsetOf(last) < bottom) last++;
      return [first, last];
    },
  };
}

/** Maximum characters of the JSON of a row whose levels are all open: a larger one may have more members than a page can draw. */
const maxOpenLength = 100_000;

function Details({ row }: { readonly row: Row }) {
  const isLarge = useMemo(() => writeExactJson(row).length > maxOpenLength, [row]);
  return (
    <div class="details" role="row">
      <div role="gridcell">
        <CopyButton text={() => writeExactJson(row, 2)} label="Copy row" />
        <JsonTree value={row} openDepth={isLarge ? 1 : 5} />
      </div>
    </div>
  );
}

const titleOf = (column: Column) =>
  `${column.name} ${isRepeated(column) ? `ARRAY<${column.type}>` : column.type}${column.description ? `: ${column.description}` : ''}`;
