import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { readScript } from '../src/commands/run-script.ts';
import { sampleProjects } from '../src/sample/vocabulary.ts';
import { benchData, benchRows, currentFile } from './bench-data.ts';
import { openDirectDuckDb } from './direct-duckdb.ts';
import { type Question, reportQuestions } from './report-questions.ts';
import { timeBlocks } from './time-blocks.ts';

const hour = {
  project: sampleProjects[0],
  iso_timestamp_start: new Date(Date.now() - 3_600_000).toISOString(),
};
const week = { project: sampleProjects[0] };

/**
 * What callers send over `logs.all`, and what somebody would write for DuckDB itself: with the same answers, so a row
 * without the record that is unnested is dropped (`_p`).
 */
export const questions: readonly (Question & { readonly parameters: Readonly<Record<string, string>> })[] = [
  ...reportQuestions.map(question => ({ ...question, parameters: week })),
  {
    name: 'failed requests, newest first',
    parameters: week,
    callerSql: `select id, t.timestamp, event_message, request.method, request.path, response.status_code
      from edge_logs t cross join unnest(metadata) as m cross join unnest(m.request) as request
      cross join unnest(m.response) as response
      where response.status_code >= 500 order by timestamp desc limit 100`,
    byHand: `SELECT id, timestamp, event_message, metadata.request.method, metadata.request.path, metadata.response.status_code
      FROM "cloudflare.logs.prod" WHERE project = $p1 AND metadata.request._p AND metadata.response.status_code >= 500
      ORDER BY timestamp DESC LIMIT 100`,
  },
  {
    name: 'requests by minute of the last hour',
    parameters: hour,
    callerSql: `select timestamp_trunc(t.timestamp, minute) as timestamp, count(t.timestamp) as count
      from edge_logs t cross join unnest(t.metadata) as metadata group by timestamp order by timestamp asc`,
    byHand: `SELECT date_trunc('minute', timestamp) AS minute, count(*) FROM "cloudflare.logs.prod"
      WHERE project = $p1 AND timestamp > $p2::TIMESTAMPTZ AND metadata._p GROUP BY 1 ORDER BY 1`,
  },
  {
    name: 'busiest paths',
    parameters: week,
    callerSql: `select r.path as path, count(*) as count from edge_logs, unnest(metadata) as m, unnest(m.request) as r
      where regexp_contains(r.path, '^/rest/v1') group by path order by count desc, path limit 20`,
    byHand: `SELECT metadata.request.path AS path, count(*) AS count FROM "cloudflare.logs.prod"
      WHERE project = $p1 AND regexp_matches(metadata.request.path, '^/rest/v1') GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 20`,
  },
  {
    name: 'database errors',
    parameters: week,
    callerSql: `select cast(t.timestamp as datetime) as timestamp, event_message, parsed.error_severity, parsed.user_name
      from postgres_logs t cross join unnest(metadata) as m cross join unnest(m.parsed) as parsed
      where parsed.error_severity in ('ERROR', 'FATAL', 'PANIC') order by t.timestamp desc limit 100`,
    byHand: `SELECT timestamp AT TIME ZONE 'UTC' AS at, event_message, metadata.parsed.error_severity, metadata.parsed.user_name
      FROM "postgres.logs" WHERE project = $p1 AND metadata.parsed.error_severity IN ('ERROR', 'FATAL', 'PANIC')
      ORDER BY timestamp DESC LIMIT 100`,
  },
  {
    name: 'status codes by area',
    parameters: week,
    callerSql: `select case when starts_with(r.path, '/rest') then 'rest' when starts_with(r.path, '/auth') then 'auth' else 'other' end as area,
      countif(s.status_code >= 500) as server, countif(s.status_code between 400 and 499) as client, avg(s.origin_time) as ms
      from edge_logs cross join unnest(metadata) as m cross join unnest(m.request) as r cross join unnest(m.response) as s
      group by area order by area`,
    byHand: `SELECT CASE WHEN starts_with(metadata.request.path, '/rest') THEN 'rest' WHEN starts_with(metadata.request.path, '/auth') THEN 'auth' ELSE 'other' END AS area,
      count_if(metadata.response.status_code >= 500), count_if(metadata.response.status_code BETWEEN 400 AND 499), avg(metadata.response.origin_time)
      FROM "cloudflare.logs.prod" WHERE project = $p1 AND metadata.request._p AND metadata.response._p GROUP BY 1 ORDER BY 1`,
  },
];

/** What the front-end costs: translating callers' queries, and planning and running what it prints beside SQL written by hand. */
export async function benchDialect(): Promise<void> {
  const file = currentFile(await benchData());
  const direct = await openDirectDuckDb(file);
  const saved = await readFile('sql/logs.all.sql', 'utf8');
  const translations = await translateAsGateway(file);
  console.log(`\n${benchRows.toLocaleString('en')} edge rows, medians\n`);
  console.log(
    '| query | translate (ms) | p99 (ms) | plan (ms) | DuckDB by hand (ms) | DuckDB (ms) | ratio |\n|---|---|---|---|---|---|---|',
  );
  for (const { name, callerSql, byHand, parameters } of questions) {
    const compiled = direct.compile(saved, callerSql);
    const { hand, ours, plan } = await timeBlocks({
      hand: () => direct.runByHand(byHand, compiled, parameters),
      ours: () => direct.runCompiled(compiled, parameters),
      plan: () => direct.plan(compiled, parameters),
    });
    const { middle, p99 } = translations[name]!;
    const figures = [middle, p99, plan, hand, ours, ours / hand];
    console.log(`| ${name} | ${figures.map(value => value.toFixed(2)).join(' | ')} |`);
  }
}

/** What translating a question took, in milliseconds. */
export type TranslationTimes = { readonly middle: number; readonly p99: number };

/** Translates the questions in a process with a gateway's bounds of memory, which V8's collections depend on. */
async function translateAsGateway(file: string): Promise<Readonly<Record<string, TranslationTimes>>> {
  const { args, environment } = readScript('start');
  const child = fork(fileURLToPath(new URL('./translate-questions.ts', import.meta.url)), [file], {
    execArgv: args.slice(0, -1),
    env: { ...process.env, ...environment },
  });
  const failed = once(child, 'exit').then(([code]) => {
    throw new Error(`translate-questions.ts ended with ${code}`);
  });
  const [times] = await Promise.race([once(child, 'message'), failed]);
  return times;
}
