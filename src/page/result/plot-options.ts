import uPlot from 'uplot';
import type { Zoom } from '../view-url.ts';
import { heightOf } from './amount.ts';
import type { Series } from './chart-model.ts';
import { alignedTo, type TimeModel, wholeOf } from './time-axis.ts';

/** Height in pixels from which a chart stands alone; a lower one is a strip above rows. */
const tallFrom = 200;

/** uPlot draws each series from zero, so the top of the stack is drawn first, with the sum of all. */
export function stacked({ seconds, series }: TimeModel, shown: readonly Series[]): uPlot.AlignedData {
  // Negative values are stacked downwards.
  const sums = { up: seconds.map(() => 0), down: seconds.map(() => 0) };
  const columns = series.map(own => {
    const isShown = shown.includes(own);
    return seconds.map((_, at) => {
      const height = isShown ? heightOf(own.values[at]!) : 0;
      // A bar of no height would show at the edge of the bar that covers it.
      if (height === 0) return null;
      const side = height > 0 ? sums.up : sums.down;
      side[at]! += height;
      return side[at]!;
    });
  });
  return [[...seconds], ...columns.reverse()];
}

/** Of the axes, their lines and the series. */
type Colours = { readonly muted: string; readonly line: string; readonly series: readonly string[] };

/** The colours as the style sheet made them: a canvas knows no `light-dark()`. */
export function readColours(figure: HTMLElement): Colours {
  const { color, borderTopColor } = getComputedStyle(figure.querySelector('.plot')!);
  const swatches = [...figure.querySelectorAll('.swatch')];
  return {
    muted: color,
    line: borderTopColor,
    series: swatches.map(swatch => getComputedStyle(swatch).backgroundColor),
  };
}

/** What is drawn of a model, and the callbacks for pointer and zoom. */
type Drawing = {
  readonly shown: readonly Series[];
  readonly zoom: Zoom | undefined;
  readonly height: number;
  readonly colours: Colours;
  readonly onPlace: (index: number | undefined) => void;
  readonly onZoom: (zoom?: Zoom) => void;
};

/** How uPlot draws the bars. */
export function optionsOf(target: HTMLElement, model: TimeModel, drawing: Drawing): uPlot.Options {
  const { series, step } = model;
  const { shown, zoom, height, colours, onPlace, onZoom } = drawing;
  const { from, to } = zoom ?? wholeOf(model);
  const axis = {
    stroke: colours.muted,
    grid: { stroke: colours.line, width: 1 },
    ticks: { stroke: colours.line, width: 1 },
    font: `12px ${getComputedStyle(target).fontFamily}`,
  };
  const bars = uPlot.paths.bars?.({ size: [0.82, 56] });
  return {
    width: target.clientWidth,
    height,
    // Half a label of the time stands beyond the last tick.
    padding: [12, 24, 0, 0],
    legend: { show: false },
    tzDate: at => uPlot.tzDate(new Date(at * 1000), 'Etc/UTC'),
    cursor: {
      y: false,
      points: { show: false },
      drag: { x: true, y: false, setScale: false },
      bind: {
        dblclick: () => () => {
          onZoom();
          return null;
        },
      },
    },
    scales: {
      // A bar stands over its time.
      x: { time: true, range: () => [from - step / 2, to - step / 2] },
      y: { range: (_plot, least, most) => heightsFor(series, least ?? 0, most ?? 0) },
    },
    axes: [
      {
        ...axis,
        space: 70,
        size: 34,
        // Bars that are days apart have no hours between them.
        incrs: step < 86_400 ? timeSteps : timeSteps.filter(apart => apart >= 86_400),
        values: (_plot, ticks, _axis, _space, apart) => ticks.map(at => axisText(at, apart)),
      },
      {
        ...axis,
        size: 56,
        space: height >= tallFrom ? 30 : 22,
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
          fill: colours.series[index]!,
          width: 0,
          paths: bars,
          points: { show: false },
        }))
        .reverse(),
    ],
    hooks: {
      setCursor: [plot => onPlace(plot.cursor.idx ?? undefined)],
      setSelect: [
        plot => {
          const { left, width } = plot.select;
          if (width < 2) return;
          const secondsAt = (pixels: number) => plot.posToVal(pixels, 'x') + step / 2;
          onZoom(alignedTo(model, { from: secondsAt(left), to: secondsAt(left + width) }));
        },
      ],
    },
  };
}

/** The range of the height axis: for counts up to 1 at least, for others, such as rates, only a little above the maximum. */
export function heightsFor(series: readonly Series[], least: number, most: number): [number, number] {
  const top = Math.max(areCounts(series) ? 1 : 0, most * 1.05);
  return [Math.min(0, least * 1.05), top || -least / 20 || 1];
}

/** A tick of the time axis in UTC: the day where the ticks are days apart, and at midnight. */
function axisText(seconds: number, apart: number): string {
  const text = new Date(seconds * 1000).toISOString();
  const isDay = apart >= 86_400 || seconds % 86_400 === 0;
  return isDay ? text.slice(5, 10) : text.slice(11, apart >= 60 ? 16 : 19);
}

const areCounts = (series: readonly Series[]) =>
  series.every(({ values }) => values.every(value => value === null || Number.isInteger(Number(value))));

/** Seconds between ticks: whole ones, as they are written. */
const timeSteps = [
  ...[1, 2, 5, 10, 15, 30].flatMap(count => [count, count * 60]),
  ...[1, 2, 3, 4, 6, 8, 12].map(hours => hours * 3600),
  ...[1, 2, 3, 4, 5, 7, 14, 28, 91, 182, 365, 730, 3650].map(days => days * 86_400),
].sort((one, other) => one - other);

/** 1, 2, 5, 10 and so on: there is no half request. */
const wholeSteps = Array.from({ length: 45 }, (_, at) => [1, 2, 5][at % 3]! * 10 ** Math.floor(at / 3));

/** At most five characters of digits and a letter, for which the axis has room. */
function shorten(value: number): string {
  const size = Math.abs(value);
  if (size >= 1e18) return value.toExponential(0);
  const [unit, letter] = units.find(([least]) => size >= least * 10) ?? [1, ''];
  return `${Number((value / unit).toPrecision(4))}${letter && ` ${letter}`}`;
}

/** A unit is used from ten of it on: `10 k` from ten thousand. */
const units = [
  [1e15, 'P'],
  [1e12, 'T'],
  [1e9, 'G'],
  [1e6, 'M'],
  [1e3, 'k'],
] as const;
