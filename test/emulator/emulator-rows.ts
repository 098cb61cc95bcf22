import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseExactJson } from '../../src/base/json.ts';
import { createDuckDbEngine } from '../../src/duckdb/duckdb-engine.ts';
import { normaliseRow } from '../../src/duckdb/normalise-row.ts';
import type { Source } from '../../src/endpoints/source.ts';
import { readSources } from '../../src/endpoints/sources.ts';
import { sampleProjects } from '../../src/sample/vocabulary.ts';
import { writeSample } from '../../src/sample/write-sample.ts';
import { edgeRow } from '../support/edge-row.ts';
import { createStandingClock } from '../support/standing-clock.ts';

/** Rows of each source, every column and field there, as `importLogs` and `tabledata.insertAll` both take them. */
export type SourceRows = ReadonlyMap<string, readonly Record<string, unknown>[]>;

/** Edge rows of the sample: the emulator takes milliseconds for each in every query. */
const sampleSize = 150;

const minuteMs = 60_000;
/** Ages at which windows of the compared queries begin. A row near one would be in the first answer and not in the second. */
const windowsMs = [60, 3 * 60, 24 * 60, 7 * 24 * 60].map(minutes => minutes * minuteMs);
const marginMs = 15 * minuteMs;

/**
 * The rows of the embedded sample for the week up to now, without those that would leave a window within the next quarter of an
 * hour, and rows beside them that the sample has not: of the last half an hour, without records, without texts, not in ASCII.
 */
export async function emulatorRows(nowMs: number): Promise<SourceRows> {
  const sources = readSources();
  const sample = await readSample(sources, nowMs);
  const isSteady = ({ timestamp }: { timestamp: number }) => {
    const ageMs = nowMs - timestamp / 1000;
    return windowsMs.every(windowMs => Math.abs(ageMs - windowMs) > marginMs);
  };
  return new Map(
    sources.map(source => {
      const { name } = source;
      const own = name === 'cloudflare.logs.prod' ? recentEdgeRows(nowMs) : [];
      const steady = (sample.get(name) ?? []).filter(isSteady);
      // Whatever the hour, the project that is asked for has realtime rows, events of users, and no rows of edge functions.
      const isAsked = (row: SampleRow) => JSON.stringify(row).includes(sampleProjects[0]);
      const kept = name === 'deno-relay-logs' ? steady.filter(row => !isAsked(row)) : steady;
      const candidates = steady.filter(row => isNeeded[name]?.(row));
      const mustAdd = !candidates.some(isAsked);
      const rows = [...kept, ...(mustAdd ? candidates.slice(0, 1).map(ofAskedProject) : []), ...own];
      const findings = { ignoredFields: new Set<string>(), severalElements: new Set<string>() };
      return [name, rows.map(row => normaliseRow(source, row, findings))];
    }),
  );
}

/** Which rows the project that is asked for needs one of, by source. */
const isNeeded: Readonly<Record<string, (row: SampleRow) => boolean>> = {
  'realtime.logs.prod': () => true,
  'gotrue.logs.prod': row => JSON.stringify(row).includes('"actor_via_sso":'),
};

/** A row of the sample as one of the project that is asked for. */
function ofAskedProject(row: SampleRow): SampleRow {
  const renamed = sampleProjects.reduce<string>(
    (text, name) => text.replaceAll(name, sampleProjects[0]),
    JSON.stringify(row),
  );
  return parseExactJson(renamed) as SampleRow; // as it was
}

type SampleRow = { readonly timestamp: number };

async function readSample(sources: readonly Source[], nowMs: number): Promise<Map<string, SampleRow[]>> {
  const directory = await mkdtemp(join(tmpdir(), 'sample-'));
  try {
    const databasePath = join(directory, 'logs.duckdb');
    await writeSample({ databasePath, sources, rows: sampleSize, nowMs });
    const engine = await createDuckDbEngine({
      databasePath,
      clock: createStandingClock(nowMs),
      emit: () => undefined,
    });
    const limits = { signal: new AbortController().signal, timeoutMs: 30_000 };
    const rows = new Map<string, SampleRow[]>();
    for (const { name } of sources) {
      const sql = `select * from \`${name}\` order by timestamp, id`;
      const statement = { endpoint: 'sample', sql, parameters: [], maxRows: 10_000 };
      const { rowsJson } = await engine.run(statement, limits);
      rows.set(name, parseExactJson(rowsJson.toString()) as SampleRow[]); // every source has a timestamp
    }
    await engine.close();
    return rows;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

function recentEdgeRows(nowMs: number): object[] {
  const paths = ['/rest/v1/todos', '/auth/v1/token', '/storage/v1/object', '/realtime/v1', '/other'];
  return Array.from({ length: 40 }, (_, at) => {
    const row = edgeRow({
      id: `recent ${String(at).padStart(2, '0')}`,
      timestamp: new Date(nowMs - (2 + at * 0.7) * minuteMs).toISOString(),
      project: sampleProjects[at % 3]!,
      path: paths[at % paths.length],
    });
    if (at === 3) return { ...row, metadata: [] };
    if (at === 6)
      return { ...row, event_message: null, metadata: [{ request: [], response: [{ status_code: 503 }] }] };
    if (at === 9)
      return {
        ...row,
        event_message: 'öffnet 💾 "quoted" \\ back\nline',
        metadata: [{ request: [{ path: null, url: null }] }],
      };
    if (at === 12) return { ...row, event_message: '' };
    if (at === 15)
      return { ...row, event_message: '{"level": "error", "n": 5, "deep": {"list": [1, "two", null]}}' };
    return row;
  });
}
