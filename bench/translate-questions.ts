import { readFile } from 'node:fs/promises';
import { questions, type TranslationTimes } from './bench-dialect.ts';
import { openDirectDuckDb } from './direct-duckdb.ts';
import { median } from './time-blocks.ts';

/** Runs whose times count, after half as many that do not: of fewer, the 99th percentile would be one or two runs. */
const runs = 1000;

// The database, given by the bench that starts this.
const direct = await openDirectDuckDb(process.argv[2]!);
const saved = await readFile('sql/logs.all.sql', 'utf8');
const times: Record<string, TranslationTimes> = {};
for (const { name, callerSql } of questions) {
  const ms = Array.from({ length: 1.5 * runs }, () => timeOf(() => direct.compile(saved, callerSql))).slice(
    runs / 2,
  );
  const p99 = ms.toSorted((a, b) => a - b)[Math.floor(ms.length * 0.99)] ?? Number.NaN;
  times[name] = { middle: median(ms), p99 };
}
direct.close();
process.send?.(times, () => process.disconnect?.());

function timeOf(work: () => void): number {
  const startedMs = performance.now();
  work();
  return performance.now() - startedMs;
}
