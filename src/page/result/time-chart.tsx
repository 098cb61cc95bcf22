import { useEffect, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import type { ChartModel, Series } from './chart-model.ts';

type TimeModel = Extract<ChartModel, { kind: 'time' }>;
type TimeChartProps = { readonly model: TimeModel };

const height = 320;

/** Stacked bars over time: legend with the numbers under the pointer, series that can be hidden, zoom by dragging. */
export function TimeChart({ model }: TimeChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const [at, setAt] = useState<number>();
  const shown = model.series.filter(({ name }) => !hidden.has(name));

  useEffect(() => {
    const target = place.current;
    if (!target) return;
    const draw = () => new uPlot(optionsOf(target, model, shown, setAt), stacked(model, shown), target);
    let plot = draw();
    const redraw = () => {
      plot.destroy();
      plot = draw();
    };
    const resized = new ResizeObserver(() => plot.setSize({ width: target.clientWidth, height }));
    resized.observe(target);
    // The colours are those of the theme.
    const themed = new MutationObserver(redraw);
    themed.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] });
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    scheme.addEventListener('change', redraw);
    return () => {
      resized.disconnect();
      themed.disconnect();
      scheme.removeEventListener('change', redraw);
      plot.destroy();
    };
  }, [model, hidden]);

  const index = at !== undefined && at < model.seconds.length ? at : undefined;
  const toggle = (name: string) => {
    const next = new Set(hidden);
    if (!next.delete(name)) next.add(name);
    setHidden(next);
  };
  const move = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    setAt(Math.min(Math.max((index ?? -1) + step, 0), model.seconds.length - 1));
  };
  return (
    <figure class="chart">
      <div class="legend">
        <span class="legend-time" aria-live="polite">
          {index === undefined ? 'Sum' : `${formatTick(model.seconds[index]!)} UTC`}
        </span>
        {model.series.map((series, place) => (
          <button
            type="button"
            key={series.name}
            class="legend-item"
            data-series={series.name}
            aria-pressed={!hidden.has(series.name)}
            onClick={() => toggle(series.name)}
          >
            <span class={`swatch ${colourName(series, place)}`} />
            {series.name}{' '}
            <output>
              {(index === undefined ? sum(series.values) : series.values[index]!).toLocaleString('en-US')}
            </output>
          </button>
        ))}
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the arrow keys move through the bars */}
      <div ref={place} class="plot" role="img" tabIndex={0} aria-label={describe(model)} onKeyDown={move} />
      <figcaption class="hint">Drag to zoom, double-click to zoom out. Times are UTC.</figcaption>
    </figure>
  );
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

const describe = ({ seconds, series }: TimeModel) =>
  `Stacked bars, ${seconds.length} from ${formatTick(seconds[0] ?? 0)} to ${formatTick(seconds.at(-1) ?? 0)} UTC: ${series
    .map(({ name, values }) => `${name} ${sum(values)}`)
    .join(', ')}`;

const formatTick = (seconds: number) => new Date(seconds * 1000).toISOString().slice(0, 16).replace('T', ' ');

/** The class, and the custom property, of a series' colour. */
export function colourName({ level }: Pick<Series, 'level'>, index: number): string {
  return level ? `level-${level}` : `series-${index + 1}`;
}

/** uPlot draws each series from zero, so the last of the stack is drawn first, with the sum of all. */
function stacked({ seconds, series }: TimeModel, shown: readonly Series[]): uPlot.AlignedData {
  const sums = seconds.map(() => 0);
  const columns = series.map(own => {
    const isShown = shown.includes(own);
    return seconds.map((_, at) => {
      if (isShown) sums[at]! += own.values[at]!;
      return isShown ? sums[at]! : null;
    });
  });
  return [[...seconds], ...columns.reverse()];
}

function optionsOf(
  target: HTMLElement,
  { series, step, seconds }: TimeModel,
  shown: readonly Series[],
  onPlace: (index: number | undefined) => void,
): uPlot.Options {
  const style = getComputedStyle(target);
  const colour = (name: string) => style.getPropertyValue(`--${name}`).trim();
  const axis = {
    stroke: colour('muted'),
    grid: { stroke: colour('line'), width: 1 },
    ticks: { stroke: colour('line'), width: 1 },
    font: `12px ${style.fontFamily}`,
  };
  const bars = uPlot.paths.bars?.({ size: [0.82, 56] });
  return {
    width: target.clientWidth,
    height,
    padding: [12, 12, 0, 0],
    legend: { show: false },
    tzDate: at => uPlot.tzDate(new Date(at * 1000), 'Etc/UTC'),
    cursor: { y: false, points: { show: false }, drag: { x: true, y: false } },
    scales: {
      x: {
        time: true,
        range: (_plot, from, to) => [(from ?? seconds[0] ?? 0) - step / 2, (to ?? 0) + step / 2],
      },
      y: { range: (_plot, _from, to) => [0, Math.max(1, (to ?? 1) * 1.05)] },
    },
    axes: [
      {
        ...axis,
        space: 70,
        values: (_plot, ticks, _axis, _space, apart) => ticks.map(at => axisText(at, apart)),
      },
      {
        ...axis,
        size: 64,
        values: (_plot, ticks) => ticks.map(shorten),
        ...(areCounts(series) && { incrs: wholeSteps }),
      },
    ],
    series: [
      {},
      ...series
        .map((own, index) => ({
          label: own.name,
          show: shown.includes(own),
          fill: colour(colourName(own, index)),
          width: 0,
          paths: bars,
          points: { show: false },
        }))
        .reverse(),
    ],
    hooks: { setCursor: [plot => onPlace(plot.cursor.idx ?? undefined)] },
  };
}

/** A tick of the time axis in UTC: the day where the ticks are days apart, and at midnight. */
function axisText(seconds: number, apart: number): string {
  const text = new Date(seconds * 1000).toISOString();
  const isDay = apart >= 86_400 || seconds % 86_400 === 0;
  return isDay ? text.slice(5, 10) : text.slice(11, apart >= 60 ? 16 : 19);
}

const areCounts = (series: readonly Series[]) => series.every(({ values }) => values.every(Number.isInteger));

/** 1, 2, 5, 10 and so on: there is no half of a request. */
const wholeSteps = Array.from({ length: 45 }, (_, at) => [1, 2, 5][at % 3]! * 10 ** Math.floor(at / 3));

function shorten(value: number): string {
  if (Math.abs(value) >= 1e9) return `${value / 1e9} G`;
  if (Math.abs(value) >= 1e6) return `${value / 1e6} M`;
  return Math.abs(value) >= 1e4 ? `${value / 1e3} k` : String(value);
}
