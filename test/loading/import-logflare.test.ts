import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { vectorBatches } from '../../examples/supabase/vector-events.ts';
import { runImportCommand } from '../../src/commands/import-command.ts';
import { openEngine } from '../../src/composition/compose-engine.ts';
import { readConfig } from '../../src/composition/config.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

/** A cell as `\copy … csv` of psql writes it: NULL is nothing, a quote is doubled. */
const cell = (value: string | undefined) =>
  value !== undefined && /[",\r\n\\]|^$/.test(value) ? `"${value.replaceAll('"', '""')}"` : (value ?? '');

const startMs = Date.parse('2026-01-15T10:00:00Z');

/** Rows of a table `log_events_…`: Logflare puts the id and the time, in microseconds, into the body. */
function* tableRows(): Generator<[id: string, body: string, message: string, timestamp: string]> {
  const options = { startMs, endMs: startMs + 120_000, perSecond: 5, withIds: true };
  for (const { source, events } of vectorBatches(options)) {
    if (source !== 'gotrue.logs.prod') continue;
    for (const { timestamp, ...event } of events) {
      const micros = BigInt(Date.parse(timestamp)) * 1000n;
      const body = JSON.stringify({ ...event, timestamp: Number(micros) });
      const text = new Date(Date.parse(timestamp)).toISOString().slice(0, -1).replace('T', ' ');
      yield [String(event.id), body, event.event_message, text];
    }
  }
}

test("a table of Logflare's in Postgres, dumped as CSV, is taken event by event, and once however often", async () => {
  const directory = await temporaryDirectory();
  const rows = [...tableRows()];
  const odd: [string, string | undefined, string | undefined, string | undefined][] = [
    // A body that has nothing of what the columns have.
    ['a1', '{"metadata":{"level":"info","big":9007199254740993}}', 'first line\nsecond "line"', '2026-01-15 11:00:00.123456'],
    ['a2', undefined, 'no body', '2026-01-15 11:00:01'],
    ['a3', '3', 'a body that is no object', '2026-01-15 11:00:02'],
  ]; // biome-ignore format: a table
  const lines = [...rows, ...odd].map(row => row.map(cell).join(','));
  const file = join(directory, 'auth.csv');
  await writeFile(file, `id,body,event_message,timestamp\n${lines.join('\n')}\n`);
  const config = readConfig({ DATA_DIR: directory, SAMPLE_ROWS: '0' });
  const printed = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  onTestFinished(() => printed.mockRestore());
  for (let time = 0; time < 2; time++) {
    expect(await runImportCommand(config, ['gotrue.logs.prod', file, '--json'])).toBe(true);
  }
  const outcomes = printed.mock.calls.map(([text]) => JSON.parse(String(text)));
  expect(outcomes.map(outcome => [outcome.rows, outcome.rejected])).toEqual(
    Array(2).fill([rows.length + 2, 1]),
  );
  await expect(runImportCommand(config, ['gotrue.logs.prod', file, '--replace'])).rejects.toThrow(
    /--replace and --dry-run/,
  );

  const engine = await openEngine(config, { clock: { now: () => startMs }, emit: () => undefined });
  onTestFinished(() => engine.close());
  const { signal } = new AbortController();
  const ask = async (sql: string) => {
    const answer = await engine.run(
      { endpoint: 'a test', sql, parameters: [], maxRows: 1000 },
      { timeoutMs: 20_000, signal },
    );
    return JSON.parse(answer.rowsJson.toString());
  };
  expect(await ask('select id, event_message, project from `gotrue.logs.prod` order by id')).toEqual(
    [
      ...rows.map(([id, , event_message]) => ({ id, event_message, project: 'default' })),
      { id: 'a1', event_message: 'first line\nsecond "line"', project: 'default' },
      { id: 'a2', event_message: 'no body', project: 'default' },
    ].sort((one, other) => (one.id < other.id ? -1 : 1)),
  );
  const withStatus = rows.filter(([, body]) => JSON.parse(body).metadata?.status === 200);
  expect(
    await ask("select count(*) as n from `gotrue.logs.prod`, unnest(metadata) as m where m.status = '200'"),
  ).toEqual([{ n: withStatus.length }]);
  expect(
    await ask(
      "select t.timestamp, m.level from `gotrue.logs.prod` as t, unnest(t.metadata) as m where id = 'a1'",
    ),
  ).toEqual([{ timestamp: 1768474800123456, level: 'info' }]);
});
