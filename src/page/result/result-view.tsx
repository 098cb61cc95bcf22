import { useMemo } from 'preact/hooks';
import type { Column } from '../api/catalogue.ts';
import type { Facts, Row } from '../api/client.ts';
import type { Shown } from '../view-url.ts';
import { chartModel, isMeasurement } from './chart-model.ts';
import { FactsBar } from './facts-bar.tsx';
import { NameChart } from './name-chart.tsx';
import { RowTable } from './row-table.tsx';
import { TimeChart } from './time-chart.tsx';

type ResultViewProps = {
  readonly columns: readonly Column[];
  readonly rows: readonly Row[];
  readonly facts: Facts;
  readonly shown: Shown | undefined;
  readonly onShow: (shown: Shown) => void;
};

/** The rows as a chart or as a table, and what is known of them. */
export function ResultView({ columns, rows, facts, shown, onShow }: ResultViewProps) {
  const model = useMemo(() => chartModel(columns, rows), [columns, rows]);
  const isChart = model !== undefined && (shown ?? (isMeasurement(columns) ? 'chart' : 'table')) === 'chart';
  return (
    <section class="result" aria-label="Result">
      <div class="result-bar">
        <fieldset class="segments tabs">
          <legend class="hidden">Show as</legend>
          {(['chart', 'table'] as const).map(own => (
            <label key={own}>
              <input
                type="radio"
                name="shown"
                checked={isChart === (own === 'chart')}
                disabled={own === 'chart' && !model}
                onChange={() => onShow(own)}
              />
              <span>{own === 'chart' ? 'Chart' : 'Table'}</span>
            </label>
          ))}
        </fieldset>
        <FactsBar facts={facts} rowCount={rows.length} />
      </div>
      {rows.length === 0 && (
        <p class="empty">No rows. A wider time range, or another value, may have some.</p>
      )}
      {isChart && model.kind === 'time' && <TimeChart model={model} />}
      {isChart && model.kind === 'names' && <NameChart model={model} />}
      {!isChart && rows.length > 0 && <RowTable columns={columns} rows={rows} />}
    </section>
  );
}
