import { join } from 'node:path';
import { Readable } from 'node:stream';
import { createDuckDbEngine } from '../../src/duckdb/duckdb-engine.ts';
import { importLogs } from '../../src/duckdb/import-logs.ts';
import { readSources } from '../../src/duckdb/sources.ts';
import { edgeRow } from '../support/edge-row.ts';
import { contractRows } from './engine-contract.ts';

/** The embedded engine over the rows of the contract, in a folder that its caller removes. */
export async function openContractEngine(directory: string) {
  const databasePath = join(directory, 'logs.duckdb');
  await importLogs({
    databasePath,
    sources: readSources(),
    source: 'cloudflare.logs.prod',
    format: 'ndjson',
    input: Readable.from(contractRows.map(row => `${JSON.stringify(edgeRow(row))}\n`)),
  });
  const clock = { now: () => Date.parse('2026-01-15T12:00:00Z') };
  return createDuckDbEngine({ databasePath, clock, emit: () => undefined });
}
