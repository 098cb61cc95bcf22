import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Emulator, startEmulator } from './start-emulator.ts';

/** Behaviour of version 0.8.1 that docs/bigquery.md describes, and `fillEmulator` works around. */
let emulator: Emulator;
beforeAll(async () => {
  emulator = await startEmulator('test');
  const datasetReference = { projectId: 'test', datasetId: 'd' };
  await emulator.post('/projects/test/datasets', { datasetReference });
}, 120_000);
afterAll(() => emulator?.stop());

const text = (name: string) => ({ name, type: 'STRING', mode: 'NULLABLE' });
const records = (name: string, fields: object[]) => ({ name, type: 'RECORD', mode: 'REPEATED', fields });
const tableOf = (tableId: string, fields: object[]) => ({
  tableReference: { projectId: 'test', datasetId: 'd', tableId },
  schema: { fields },
});
const query = (sql: string) => emulator.post('/projects/test/queries', { query: sql, useLegacySql: false });

test('tables.insert takes no field with the name of a keyword', async () => {
  const fields = [records('m', [text('limit')])];
  const made = emulator.post('/projects/test/datasets/d/tables', tableOf('reserved', fields));
  await expect(made).rejects.toThrow('but got keyword LIMIT');
});

test('records inside of records that tabledata.insertAll took can not be read', async () => {
  const fields = [records('m', [records('r', [text('a'), text('b')])])];
  await emulator.post('/projects/test/datasets/d/tables', tableOf('nested', fields));
  const rows = [{ json: { m: [{ r: [{ a: 'x', b: 'y' }] }] } }];
  await emulator.post('/projects/test/datasets/d/tables/nested/insertAll', { rows });
  await expect(query('select * from `test.d.nested`')).rejects.toThrow('failed to convert struct from array');
});

test('a dry run by jobs.insert has a job, says SELECT of anything, names no tables, and runs', async () => {
  const dryRun = (sql: string) => {
    const jobReference = { projectId: 'test' };
    const configuration = { dryRun: true, query: { query: sql, useLegacySql: false } };
    return emulator.post('/projects/test/jobs', { jobReference, configuration });
  };
  const found = await dryRun('create table d.made (a int64)');
  expect(found).toMatchObject({
    jobReference: { jobId: expect.any(String) },
    statistics: { query: { statementType: 'SELECT' } },
  });
  expect(JSON.stringify(found)).not.toContain('referencedTables');
  expect(await dryRun('select error("it ran")')).toMatchObject({
    status: { errorResult: { message: 'failed to scan rows: it ran', reason: 'jobInternalError' } },
  });
});

test('a query that names no parameter takes none', async () => {
  const queryParameters = [{ name: 'a', parameterType: { type: 'STRING' }, parameterValue: { value: 'x' } }];
  const asked = emulator.post('/projects/test/queries', {
    query: 'select 1',
    queryParameters,
    parameterMode: 'NAMED',
    useLegacySql: false,
  });
  await expect(asked).rejects.toThrow('expected 0 arguments, got 1');
});
