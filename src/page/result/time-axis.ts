import type { Zoom } from '../view-url.ts';
import type { ChartModel } from './chart-model.ts';

/** Bars over time. */
export type TimeModel = Extract<ChartModel, { kind: 'time' }>;

/** Whether a bar is in a part of the axis. */
export const isWithin = (seconds: number, zoom: Zoom | undefined) =>
  !zoom || (seconds >= zoom.from && seconds < zoom.to);

/** The whole time axis: a bar reaches from its time to the next one. */
export const wholeOf = ({ seconds, step }: TimeModel): Zoom => ({
  from: seconds[0] ?? 0,
  to: (seconds.at(-1) ?? 0) + step,
});

/** A larger or smaller part of the axis around a bar; undefined for all of it. */
export function zoomedBy(
  factor: number,
  model: TimeModel,
  zoom: Zoom | undefined,
  index: number | undefined,
): Zoom | undefined {
  const { step } = model;
  const whole = wholeOf(model);
  const { from, to } = zoom ?? whole;
  const middle = index === undefined ? (from + to) / 2 : model.seconds[index]! + step / 2;
  const half = Math.max(((to - from) * factor) / 2, step / 2);
  const next = alignedTo(model, { from: middle - half, to: middle + half });
  return next.from <= whole.from && next.to >= whole.to ? undefined : next;
}

/** Whole bars: those whose middle is in the part, or the nearest one. */
export function alignedTo({ seconds, step }: TimeModel, { from, to }: Zoom): Zoom {
  const first = seconds[0] ?? 0;
  const least = Math.round((from - first) / step);
  const most = Math.max(Math.round((to - first) / step), least + 1);
  return { from: first + least * step, to: first + most * step };
}
