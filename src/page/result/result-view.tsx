import type { FunctionComponent } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { Column } from '../api/catalogue.ts';
import type { Facts, Row } from '../api/client.ts';
import { MissingScript } from '../missing-script.tsx';
import { type Micros, oldestMicros, timeColumn } from '../query/row-times.ts';
import { type View, ways, type Zoom } from '../view-url.ts';
import { chartModel, isMeasurement } from './chart-model.ts';
import { FactsBar } from './facts-bar.tsx';
import { rowsWithin } from './filter-rows.ts';
import { formatMicros } from './format.ts';
import { NameChart } from './name-chart.tsx';
import { RowTable } from './row-table.tsx';
import type { TimeChart } from './time-chart.tsx';

type ResultViewProps = {
  readonly columns: readonly Column[];
  readonly rows: readonly Row[];
  readonly facts: Facts;
  /** Times of which not all rows may be shown. */
  readonly crowded: readonly Micros[];
  readonly view: View;
  readonly onView: (view: View) => void;
  /** Runs the query again, bypassing the gateway's cache. */
  readonly onFresh: () => void;
  readonly isRunning: boolean;
  /** Loads rows before the oldest one; absent if there are none, or they can't be requested. */
  readonly onOlder: (() => void) | undefined;
  /** Asks for the rows of a part of the time axis; absent if the saved query has no bounds for it. */
  readonly onRange: ((zoom: Zoom) => void) | undefined;
};

/** The rows as a chart, as a table or as both, and facts about them. */
export function ResultView(props: ResultViewProps) {
  const { columns, rows, facts, crowded, view, onView, onFresh, isRunning, onOlder, onRange } = props;
  const { shown, zoom, filter = '' } = view;
  const found = useMemo(() => rowsWithin(rows, columns, { filter }), [rows, columns, filter]);
  const model = useMemo(() => chartModel(columns, found), [columns, found]);
  const suited = isMeasurement(columns) ? 'chart' : model?.kind === 'time' ? 'both' : 'table';
  const way = model === undefined ? 'table' : (shown ?? suited);
  // Rows hidden in the chart are also hidden in the table.
  const zoomed = useMemo(
    () => (model?.kind === 'time' && zoom ? rowsWithin(found, columns, { zoom }) : found),
    [found, columns, zoom, model],
  );
  return (
    <section class="result" aria-label="Result">
      <div class="result-bar">
        <fieldset class="segments tabs">
          <legend class="hidden">Show as</legend>
          {ways.map(own => (
            <label key={own}>
              <input
                type="radio"
                name="shown"
                checked={way === own}
                disabled={own !== 'table' && !model}
                onChange={() => onView({ ...view, shown: own })}
              />
              <span>{{ chart: 'Chart', both: 'Both', table: 'Table' }[own]}</span>
            </label>
          ))}
        </fieldset>
        <FactsBar facts={facts} rowCount={rows.length} shownCount={zoomed.length} onFresh={onFresh}>
          {onOlder && <Older columns={columns} rows={rows} isRunning={isRunning} onOlder={onOlder} />}
        </FactsBar>
        {(way !== 'chart' || filter !== '') && (
          <input
            type="search"
            class="filter"
            aria-label="Filter these rows"
            placeholder="Filter these rows"
            value={filter}
            onInput={event => onView({ ...view, filter: event.currentTarget.value || undefined })}
          />
        )}
      </div>
      {crowded.length > 0 && <p class="hint">{crowdedText(crowded)}</p>}
      {rows.length === 0 && (
        <p class="empty">No rows. A wider time range, or another value, may have some.</p>
      )}
      {rows.length > 0 && zoomed.length === 0 && (
        <p class="empty">None of the {rows.length} rows is within the filter.</p>
      )}
      {way !== 'table' && model?.kind === 'time' && (
        <LazyTimeChart
          model={model}
          height={way === 'both' ? 120 : 320}
          zoom={zoom}
          onZoom={next => onView({ ...view, zoom: next })}
          onRange={onRange}
        />
      )}
      {way !== 'table' && model?.kind === 'names' && <NameChart model={model} />}
      {way !== 'chart' && zoomed.length > 0 && <RowTable columns={columns} rows={zoomed} />}
    </section>
  );
}

type OlderProps = Pick<ResultViewProps, 'columns' | 'rows' | 'isRunning'> & { readonly onOlder: () => void };

/** How far back the rows reach: a saved query may return only its newest rows, whatever range was asked for. */
function Older({ columns, rows, isRunning, onOlder }: OlderProps) {
  const time = timeColumn(columns);
  const oldest = time === undefined ? undefined : oldestMicros(time, rows);
  if (oldest === undefined) return null;
  return (
    <span class="fact reach">
      back to <b>{formatMicros(oldest).slice(0, 19)}</b> UTC
      <button type="button" class="link" disabled={isRunning} onClick={onOlder}>
        Load older rows
      </button>
    </span>
  );
}

/** Says that one time may have more rows than an answer, which no request can reach. */
function crowdedText([first, ...others]: readonly Micros[]): string {
  const more = others.length === 0 ? '' : `, and ${others.length} more times like it,`;
  return `${formatMicros(first!)} UTC${more} may have more rows than an answer holds: they are not shown.`;
}

let loaded: typeof TimeChart | undefined;

/** The chart, with uPlot's script loaded on first use. */
function LazyTimeChart(props: Parameters<typeof TimeChart>[0]) {
  const [Chart, setChart] = useState<FunctionComponent<typeof props> | undefined>(() => loaded);
  const [isMissing, setMissing] = useState(false);
  useEffect(() => {
    if (Chart) return;
    void import('./time-chart.tsx').then(
      ({ TimeChart }) => {
        loaded = TimeChart;
        setChart(() => TimeChart);
      },
      () => setMissing(true),
    );
  }, []);
  if (isMissing) return <MissingScript of="chart" />;
  return Chart ? <Chart {...props} /> : <div style={{ height: `${props.height}px` }} />;
}
