import { expect, onTestFinished, test } from 'vitest';
import { listLayout } from '../../src/duckdb/layout.ts';
import { readSources } from '../../src/endpoints/sources.ts';
import { startReferenceServer } from '../oracle/reference-server.ts';
import { propertySeed } from '../support/seed-properties.ts';
import { compileCaller, parameterNames } from './compile-caller.ts';
import { mutant, seededRandom } from './mutate.ts';

const subsets: Readonly<Record<string, string>> = {
  'cloudflare.logs.prod': 'edge_logs',
  'postgres.logs': 'postgres_logs',
  'deno-relay-logs': 'function_edge_logs',
  'deno-subhosting-events': 'function_logs',
  'gotrue.logs.prod': 'auth_logs',
  'realtime.logs.prod': 'realtime_logs',
  'storage.logs.prod.2': 'storage_logs',
  'postgREST.logs.prod': 'postgrest_logs',
  'pgbouncer.logs.prod': 'pgbouncer_logs',
};

test('contract 4.11: the reference finds no table in what is accepted but the subsets: BigQuery gets the same text', async () => {
  const seed = propertySeed;
  const server = await startReferenceServer();
  onTestFinished(() => server.stop());
  const tables = readSources().map(({ name, columns }) => ({
    name: subsets[name]!,
    columns: listLayout(columns).filter(column => column.name !== 'project'),
  }));
  const parameters = Object.fromEntries(parameterNames.map(name => [name, '']));
  const input = { tables, rows: {}, parameters };
  const random = seededRandom(seed);
  const foreign: string[] = [];
  let compared = 0;
  let resolved = 0;
  for (let n = 0; n < 2000; n++) {
    const sql = mutant(random);
    if (!isAccepted(sql)) continue;
    const answer = await server.evaluate(sql, input);
    compared += 1;
    if (!('error' in answer)) resolved += 1;
    else if (/Table not found|Table-valued function/.test(answer.error)) foreign.push(sql);
  }
  expect({ seed, foreign }).toEqual({ seed, foreign: [] });
  expect(compared).toBeGreaterThan(100);
  expect(resolved / compared).toBeGreaterThan(0.8);
});

function isAccepted(sql: string): boolean {
  try {
    compileCaller(sql);
    return true;
  } catch {
    return false;
  }
}
