/**
 * Stores and sorts what waits in a database, and kills itself before one of DuckDB's statements, as a loss of power would:
 * `node sort-until-killed.ts <database> <statements before> <folder of sources>`.
 */
import { DuckDBConnection } from '@duckdb/node-api';
import { readSources } from '../../src/endpoints/sources.ts';
import { storeAccepted } from '../../src/loading/store-accepted.ts';

const [databasePath = '', before = '', directory] = process.argv.slice(2);
let left = Number(before);
const { run } = DuckDBConnection.prototype;
DuckDBConnection.prototype.run = function (...args) {
  if (left-- === 0) process.kill(process.pid, 'SIGKILL');
  return run.apply(this, args);
};

const sources = readSources(directory);
let goesOn = true;
while (goesOn) goesOn = await storeAccepted({ databasePath, sources, emit: () => undefined, goesOn });
