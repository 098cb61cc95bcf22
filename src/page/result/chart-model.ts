import { type Column, isNumeric, isRepeated, isTemporal } from '../api/catalogue.ts';
import type { Row } from '../api/client.ts';
import { type Amount, add, heightOf, toAmount } from './amount.ts';
import { formatCell, toSeconds } from './format.ts';
import { isLevel, type Level, levelOf, levels } from './level.ts';
import { shortNames } from './short-names.ts';

/** Numbers by name, one for each position of the x axis. */
export type Series = { readonly name: string; readonly values: readonly Amount[]; readonly level?: Level };

/** What a chart draws. */
export type ChartModel =
  /** Stacked bars over time; `seconds` since 1970, ascending, `step` seconds apart at least. */
  | {
      readonly kind: 'time';
      readonly seconds: readonly number[];
      readonly step: number;
      readonly series: readonly Series[];
      /** Whether the sum of the series is meaningful; otherwise each is shown alone. */
      readonly isStack: boolean;
      /** The column of the times, and how many rows have none: they are not drawn. */
      readonly time: string;
      readonly timeless: number;
    }
  /** A bar for each name. */
  | { readonly kind: 'names'; readonly names: readonly string[]; readonly series: Series };

/** Maximum number of series: as many as there are distinguishable colours. */
const maxSeries = 8;
const maxNames = 50;

/** Maximum buckets of a chart that counts rows. */
const maxBuckets = 60;

/** Bucket sizes in seconds, from a second to thirty days. */
const sizes = [1, 5, 15, 60, 300, 900, 3600, 10_800, 21_600, 86_400, 604_800, 2_592_000];

/** Finds the chart that suits the columns; undefined if none does. */
export function chartModel(columns: readonly Column[], rows: readonly Row[]): ChartModel | undefined {
  if (rows.length === 0) return undefined;
  const time = columns.find(isTemporal);
  const numbers = columns.filter(isMeasured);
  const level = columns.find(column => isLevel(column) && !isRepeated(column));
  const names = columns.filter(column => column.type === 'STRING' && !isRepeated(column));
  const name = names[0] ?? level;
  const [first] = numbers;
  const isSeries = columns.length === 3 || (!level && columns.filter(isNumeric).length === 1);
  if (time && name && first && isSeries) return pivoted(time, name, first, rows);
  if (time && first && !level) return overTime(time, numbers, rows);
  if (time) return countedByLevel(time, rows);
  return name && first ? byName(name, first, rows) : undefined;
}

/** Whether the rows are measurements, which a chart shows best, rather than log rows and records. */
export function isMeasurement(columns: readonly Column[]): boolean {
  const numbers = columns.filter(isMeasured);
  const others = columns.length - numbers.length;
  const isSeries = others === 2 && numbers.length === 1 && columns.some(({ type }) => type === 'STRING');
  return columns.some(isTemporal) && numbers.length > 0 && ((others === 1 && areAlike(numbers)) || isSeries);
}

/** Names of numbers that neither count nor measure anything: their sum is meaningless. */
const ofCodes =
  /(^|_)(id|nr|plz|zip|port|pid|code|year|version)$|_(no|number|nummer)$|[a-z](Id|Nr|No|Code|Number|Nummer)$/;

/** Whether a column has numbers that bars can show. */
function isMeasured(column: Column): boolean {
  const { name } = column;
  return isNumeric(column) && !isLevel(column) && !ofCodes.test(name) && !ofCodes.test(name.toLowerCase());
}

/** Whether numbers are of one kind by their names, as `rest_requests` and `auth_requests`. */
const areAlike = (numbers: readonly Column[]) =>
  numbers.length < 2 || shortNames(numbers.map(({ name }) => name)).pattern !== undefined;

function overTime(time: Column, numbers: readonly Column[], rows: readonly Row[]): ChartModel {
  const sums = new Map<number, Amount[]>();
  const shown = numbers.slice(0, maxSeries);
  const timeless = eachInTime(time, rows, (at, row) => {
    const sum = sums.get(at) ?? shown.map(() => null);
    shown.forEach(({ name }, index) => {
      sum[index] = add(sum[index]!, toAmount(row[name]));
    });
    sums.set(at, sum);
  });
  const series = shown.map(({ name }) => ({ name }));
  return timeModel(sums, series, { time: time.name, timeless, isStack: areAlike(shown) });
}

/** Calls a function for each row that has a time; returns how many have none. */
function eachInTime(time: Column, rows: readonly Row[], see: (seconds: number, row: Row) => void): number {
  let timeless = 0;
  for (const row of rows) {
    const at = toSeconds(time, row[time.name]);
    if (at === undefined) timeless++;
    else see(at, row);
  }
  return timeless;
}

/** One series for each of the most frequent names; the others are summed up. */
function pivoted(time: Column, name: Column, number: Column, rows: readonly Row[]): ChartModel {
  const totals = new Map<string, number>();
  const keyOf = (row: Row) => String(row[name.name] ?? 'NULL');
  for (const row of rows) {
    const key = keyOf(row);
    totals.set(key, (totals.get(key) ?? 0) + heightOf(toAmount(row[number.name])));
  }
  const ranked = [...totals].sort((one, other) => other[1] - one[1]).map(([key]) => key);
  const named = ranked.length > maxSeries ? [...ranked.slice(0, maxSeries - 1), 'others'] : ranked;
  const sums = new Map<number, Amount[]>();
  const timeless = eachInTime(time, rows, (at, row) => {
    const sum = sums.get(at) ?? named.map(() => null);
    const found = named.indexOf(keyOf(row));
    const index = found < 0 ? named.length - 1 : found;
    sum[index] = add(sum[index]!, toAmount(row[number.name]));
    sums.set(at, sum);
  });
  const series = named.map(key => ({ name: key }));
  return timeModel(sums, series, { time: time.name, timeless });
}

/** Series of counted rows; those without a level are at the bottom. */
const kinds = [undefined, ...levels];

function countedByLevel(time: Column, rows: readonly Row[]): ChartModel {
  const seen: { at: number; level: Level | undefined }[] = [];
  const timeless = eachInTime(time, rows, (at, row) => seen.push({ at, level: levelOf(row)?.level }));
  const least = seen.reduce((least, { at }) => Math.min(least, at), Infinity);
  const most = seen.reduce((most, { at }) => Math.max(most, at), -Infinity);
  const size = sizes.find(each => (most - least) / each <= maxBuckets) ?? sizes.at(-1)!;
  const sums = new Map<number, number[]>();
  for (const { at, level } of seen) {
    const bucket = Math.floor(at / size) * size;
    const sum = sums.get(bucket) ?? kinds.map(() => 0);
    sum[kinds.indexOf(level)]! += 1;
    sums.set(bucket, sum);
  }
  const used = kinds.map((level, index) => ({ level, index }));
  const kept = used.filter(({ index }) => [...sums.values()].some(sum => sum[index]! > 0));
  const filtered = new Map([...sums].map(([at, sum]) => [at, kept.map(({ index }) => sum[index]!)]));
  const nameless = kept.length === 1 ? 'rows' : 'no level';
  const series = kept.map(({ level }) => (level ? { name: level, level } : { name: nameless }));
  return timeModel(filtered, series, { time: time.name, timeless, size });
}

function timeModel(
  sums: ReadonlyMap<number, readonly Amount[]>,
  series: readonly Omit<Series, 'values'>[],
  about: { time: string; timeless: number; isStack?: boolean; size?: number },
): ChartModel {
  const { time, timeless, isStack = true, size } = about;
  const seconds = [...sums.keys()].sort((one, other) => one - other);
  let step = size ?? Infinity;
  for (let at = 1; at < seconds.length; at++) step = Math.min(step, seconds[at]! - seconds[at - 1]!);
  return {
    kind: 'time',
    time,
    timeless,
    isStack,
    seconds,
    step: Number.isFinite(step) ? step : 3600,
    series: series.map((own, index) => ({ ...own, values: seconds.map(at => sums.get(at)![index]!) })),
  };
}

function byName(name: Column, number: Column, rows: readonly Row[]): ChartModel {
  const shown = rows.slice(0, maxNames);
  return {
    kind: 'names',
    names: shown.map(row => formatCell(name, row[name.name])),
    series: { name: number.name, values: shown.map(row => toAmount(row[number.name])) },
  };
}
