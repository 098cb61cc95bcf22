import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import type { Zoom } from '../view-url.ts';
import { formatAmount, sumOf } from './amount.ts';
import type { Series } from './chart-model.ts';
import { cut } from './format.ts';
import { optionsOf, readColours, stacked } from './plot-options.ts';
import { shortNames } from './short-names.ts';
import { isWithin, type TimeModel, zoomedBy } from './time-axis.ts';

type TimeChartProps = {
  readonly model: TimeModel;
  /** Pixels. */
  readonly height: number;
  /** The part that is shown; absent: all of it. */
  readonly zoom: Zoom | undefined;
  readonly onZoom: (zoom: Zoom | undefined) => void;
  /** Asks for the rows of the part that is shown; absent if no bounds can select it. */
  readonly onRange: ((zoom: Zoom) => void) | undefined;
};

/** Stacked bars over time: legend with the numbers under the pointer, series that can be hidden, zoom by dragging. */
export function TimeChart({ model, height, zoom, onZoom, onRange }: TimeChartProps) {
  const figure = useRef<HTMLElement>(null);
  const [toggled, setToggled] = useState<ReadonlySet<string>>(new Set());
  const hidden = useMemo(() => hiddenOf(model, toggled), [model, toggled]);
  const [at, setAt] = useState<number>();
  const plot = usePlot(figure, { model, height, zoom, onZoom, hidden, onPlace: setAt });

  const within = model.seconds.flatMap((each, index) => (isWithin(each, zoom) ? [index] : []));
  const index = at !== undefined && within.includes(at) ? at : undefined;
  const scale = (factor: number) => onZoom(zoomedBy(factor, model, zoom, index));
  const press = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const factor = { '+': 0.5, '-': 2 }[event.key];
    if (step === undefined && factor === undefined && event.key !== '0') return;
    event.preventDefault();
    if (step !== undefined) {
      const first = step > 0 ? 0 : within.length - 1;
      const next = index === undefined ? first : within.indexOf(index) + step;
      const chosen = within[Math.min(Math.max(next, 0), within.length - 1)];
      setAt(chosen);
      if (chosen !== undefined) pointAt(plot.current, model.seconds[chosen]!);
    } else if (factor !== undefined) scale(factor);
    else onZoom(undefined);
  };
  return (
    <figure class="chart" ref={figure}>
      <div class="legend">
        <Legend
          model={model}
          within={within}
          index={index}
          hidden={hidden}
          toggled={toggled}
          onToggled={setToggled}
        />
        {model.timeless > 0 && (
          <span class="fact cut">
            {model.timeless.toLocaleString('en-US')} {model.timeless === 1 ? 'row' : 'rows'} without{' '}
            {model.time} not drawn
          </span>
        )}
        <span class="zoom">
          <button type="button" class="small" aria-label="Zoom in" onClick={() => scale(0.5)}>
            +
          </button>
          <button type="button" class="small" aria-label="Zoom out" disabled={!zoom} onClick={() => scale(2)}>
            −
          </button>
        </span>
      </div>
      <div
        class="plot"
        role="img"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the arrow keys move through the bars
        tabIndex={0}
        style={{ minHeight: `${height}px` }}
        aria-label={describe(model)}
        onKeyDown={press}
      />
      {/* Zooming changes this line and moves nothing. */}
      <figcaption class="zoom-line hint">
        {zoom && onRange && (
          <button type="button" class="link" onClick={() => onRange(zoom)}>
            Ask for this range
          </button>
        )}
        {zoom ? (
          <button type="button" class="link" onClick={() => onZoom(undefined)}>
            All of it
          </button>
        ) : (
          <span class="wide-only">
            Drag to zoom, double-click for all of it; with the keyboard ← → + − 0. Times are UTC.
          </span>
        )}
      </figcaption>
    </figure>
  );
}

/** The series that are not drawn: those hidden by a click, and, if their sum is meaningless, all but the first that no click has shown. */
function hiddenOf({ series, isStack }: TimeModel, toggled: ReadonlySet<string>): ReadonlySet<string> {
  const isHidden = ({ name }: Series, at: number) => (!isStack && at > 0) !== toggled.has(name);
  return new Set(series.filter(isHidden).map(({ name }) => name));
}

type Plot = Pick<TimeChartProps, 'model' | 'height' | 'zoom' | 'onZoom'> & {
  /** Names of series. */
  readonly hidden: ReadonlySet<string>;
  /** Called with the bar under the pointer. */
  readonly onPlace: (index: number | undefined) => void;
};

/** Draws the bars, and again whenever the model, the theme or the width changes. */
function usePlot(figure: { readonly current: HTMLElement | null }, props: Plot) {
  const drawn = useRef<uPlot>(undefined);
  const { model, height, zoom, hidden } = props;
  // The plot outlives a rendering, so it calls the latest functions.
  const latest = useRef(props);
  latest.current = props;
  useEffect(() => {
    const target = figure.current?.querySelector<HTMLElement>('.plot');
    if (!figure.current || !target) return;
    const own = figure.current;
    const shown = model.series.filter(({ name }) => !hidden.has(name));
    const draw = () => {
      const options = optionsOf(target, model, {
        shown,
        zoom,
        height,
        colours: readColours(own),
        onPlace: index => latest.current.onPlace(index),
        onZoom: next => latest.current.onZoom(next),
      });
      return new uPlot(options, stacked(model, shown), target);
    };
    drawn.current = draw();
    const redraw = () => {
      drawn.current?.destroy();
      drawn.current = draw();
    };
    const resized = new ResizeObserver(() => drawn.current?.setSize({ width: target.clientWidth, height }));
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
      drawn.current?.destroy();
    };
  }, [model, hidden, height, zoom?.from, zoom?.to]);
  return drawn;
}

/** Draws the line of the pointer at a time. */
function pointAt(plot: uPlot | undefined, seconds: number): void {
  plot?.setCursor({ left: plot.valToPos(seconds, 'x'), top: 0 });
}

type LegendProps = {
  readonly model: TimeModel;
  /** Indexes of the bars that are shown. */
  readonly within: readonly number[];
  /** The bar that is read; absent: the sum of those that are shown. */
  readonly index: number | undefined;
  readonly hidden: ReadonlySet<string>;
  /** Names of series that were clicked. */
  readonly toggled: ReadonlySet<string>;
  readonly onToggled: (toggled: ReadonlySet<string>) => void;
};

/** The series with their numbers; a click hides one. */
function Legend({ model, within, index, hidden, toggled, onToggled }: LegendProps) {
  const labels = useMemo(() => shortNames(model.series.map(({ name }) => name)), [model]);
  const toggle = (name: string) => {
    const next = new Set(toggled);
    if (!next.delete(name)) next.add(name);
    onToggled(next);
  };
  const numberOf = ({ values }: Series) =>
    index === undefined ? sumOf(within.map(each => values[each]!)) : values[index]!;
  return (
    <>
      <span class="legend-time" aria-live="polite">
        {index === undefined ? 'Sum' : `${formatTick(model.seconds[index]!)} UTC`}
      </span>
      {model.series.map((series, place) => (
        <button
          type="button"
          key={series.name}
          class="legend-item"
          data-series={series.name}
          title={cut(series.name, maxName)}
          aria-pressed={!hidden.has(series.name)}
          onClick={() => toggle(series.name)}
        >
          <span class="swatch" style={{ background: `var(${colourOf(series, place)})` }} />
          {cut(labels.names[place]!, maxName)} <output>{formatAmount(numberOf(series))}</output>
        </button>
      ))}
      {labels.pattern && <span class="hint wide-only">{labels.pattern}</span>}
    </>
  );
}

/** Characters of the name of a series: it may be the text of a log row. */
const maxName = 60;

const describe = ({ seconds, series }: TimeModel) =>
  `Stacked bars, ${seconds.length} from ${formatTick(seconds[0] ?? 0)} to ${formatTick(seconds.at(-1) ?? 0)} UTC: ${series
    .map(({ name, values }) => `${cut(name, maxName)} ${formatAmount(sumOf(values))}`)
    .join(', ')}`;

const formatTick = (seconds: number) => new Date(seconds * 1000).toISOString().slice(0, 16).replace('T', ' ');

/** The property of `theme.css` with the colour of a series. */
function colourOf({ level }: Pick<Series, 'level'>, index: number): string {
  return level ? `--level-${level}` : `--series-${index + 1}`;
}
