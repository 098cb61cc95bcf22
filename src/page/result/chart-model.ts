import { type Column, isNumeric, isRepeated, isTemporal } from '../api/catalogue.ts';
import type { Row } from '../api/client.ts';
import { toSeconds } from './format.ts';
import { type Level, levelOf, levels } from './level.ts';

/** Numbers by name, one for each place of the x axis. */
export type Series = { readonly name: string; readonly values: readonly number[]; readonly level?: Level };

/** What a chart draws. */
export type ChartModel =
  /** Stacked bars over time; `seconds` since 1970, ascending, `step` seconds apart at least. */
  | {
      readonly kind: 'time';
      readonly seconds: readonly number[];
      readonly step: number;
      readonly series: readonly Series[];
    }
  /** A bar for each name. */
  | { readonly kind: 'names'; readonly names: readonly string[]; readonly series: Series };

/** More series than colours would be told apart by nobody. */
const maxSeries = 8;
const maxNames = 50;

/** Buckets of a chart that counts rows. */
const maxBuckets = 60;

/** Bucket sizes in seconds, from a second to thirty days. */
const sizes = [1, 5, 15, 60, 300, 900, 3600, 10_800, 21_600, 86_400, 604_800, 2_592_000];

/** Finds the chart that suits the columns; undefined if none does. */
export function chartModel(columns: readonly Column[], rows: readonly Row[]): ChartModel | undefined {
  if (rows.length === 0) return undefined;
  const time = columns.find(isTemporal);
  const numbers = columns.filter(isNumeric);
  const name = columns.find(column => column.type === 'STRING' && !isRepeated(column));
  const [first] = numbers;
  if (time && name && first && numbers.length === 1) return pivoted(time, name, first, rows);
  if (time && first) return overTime(time, numbers, rows);
  if (time) return countedByLevel(time, rows);
  return name && first ? byName(name, first, rows) : undefined;
}

/** Whether the rows are measurements, which a chart shows best, rather than log rows. */
export function isMeasurement(columns: readonly Column[]): boolean {
  return columns.some(isTemporal) && columns.some(isNumeric) && columns.every(column => !isRepeated(column));
}

function overTime(time: Column, numbers: readonly Column[], rows: readonly Row[]): ChartModel {
  const sums = new Map<number, number[]>();
  const shown = numbers.slice(0, maxSeries);
  for (const row of rows) {
    const at = toSeconds(time, row[time.name]);
    if (at === undefined) continue;
    const sum = sums.get(at) ?? shown.map(() => 0);
    shown.forEach(({ name }, index) => {
      sum[index]! += toNumber(row[name]);
    });
    sums.set(at, sum);
  }
  return timeModel(
    sums,
    shown.map(({ name }) => ({ name })),
  );
}

/** One series for each of the commonest names; the others are summed up. */
function pivoted(time: Column, name: Column, number: Column, rows: readonly Row[]): ChartModel {
  const totals = new Map<string, number>();
  for (const row of rows) {
    const key = String(row[name.name]);
    totals.set(key, (totals.get(key) ?? 0) + toNumber(row[number.name]));
  }
  const ranked = [...totals].sort((one, other) => other[1] - one[1]).map(([key]) => key);
  const named = ranked.length > maxSeries ? [...ranked.slice(0, maxSeries - 1), 'others'] : ranked;
  const sums = new Map<number, number[]>();
  for (const row of rows) {
    const at = toSeconds(time, row[time.name]);
    if (at === undefined) continue;
    const sum = sums.get(at) ?? named.map(() => 0);
    const index = named.indexOf(String(row[name.name]));
    sum[index < 0 ? named.length - 1 : index]! += toNumber(row[number.name]);
    sums.set(at, sum);
  }
  return timeModel(
    sums,
    named.map(key => ({ name: key })),
  );
}

function countedByLevel(time: Column, rows: readonly Row[]): ChartModel {
  const seen = rows.flatMap(row => {
    const at = toSeconds(time, row[time.name]);
    return at === undefined ? [] : [{ at, level: levelOf(row)?.level ?? ('info' as const) }];
  });
  const least = seen.reduce((least, { at }) => Math.min(least, at), Infinity);
  const most = seen.reduce((most, { at }) => Math.max(most, at), -Infinity);
  const size = sizes.find(each => (most - least) / each <= maxBuckets) ?? sizes.at(-1)!;
  const sums = new Map<number, number[]>();
  for (const { at, level } of seen) {
    const bucket = Math.floor(at / size) * size;
    const sum = sums.get(bucket) ?? levels.map(() => 0);
    sum[levels.indexOf(level)]! += 1;
    sums.set(bucket, sum);
  }
  const used = levels.map((level, index) => ({ level, index, name: level }));
  const kept = used.filter(({ index }) => [...sums.values()].some(sum => sum[index]! > 0));
  const filtered = new Map([...sums].map(([at, sum]) => [at, kept.map(({ index }) => sum[index]!)]));
  return timeModel(
    filtered,
    kept.map(({ name, level }) => ({ name, level })),
    size,
  );
}

function timeModel(
  sums: ReadonlyMap<number, readonly number[]>,
  series: readonly Omit<Series, 'values'>[],
  size?: number,
): ChartModel {
  const seconds = [...sums.keys()].sort((one, other) => one - other);
  let step = size ?? Infinity;
  for (let at = 1; at < seconds.length; at++) step = Math.min(step, seconds[at]! - seconds[at - 1]!);
  return {
    kind: 'time',
    seconds,
    step: Number.isFinite(step) ? step : 3600,
    series: series.map((own, index) => ({ ...own, values: seconds.map(at => sums.get(at)![index]!) })),
  };
}

function byName(name: Column, number: Column, rows: readonly Row[]): ChartModel {
  const shown = rows.slice(0, maxNames);
  return {
    kind: 'names',
    names: shown.map(row => (row[name.name] === null ? 'NULL' : String(row[name.name]))),
    series: { name: number.name, values: shown.map(row => toNumber(row[number.name])) },
  };
}

/** NULL, NaN and infinities have no height. */
function toNumber(value: unknown): number {
  const number = Number(value);
  return Number.isFinite(number) ? number : 0;
}
