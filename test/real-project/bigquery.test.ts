import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { openEngine } from '../../src/composition/compose-engine.ts';
import { readConfig } from '../../src/composition/config.ts';
import type { EndpointDefinition } from '../../src/endpoints/definition.ts';
import { createEndpointRegistry } from '../../src/endpoints/registry.ts';
import type { Engine } from '../../src/engine/engine.ts';
import { checkPruning } from './check-pruning.ts';

/**
 * Against a project of your own, or an emulator: the variables of docs/bigquery.md and credentials. Dry runs, and one query that reads one
 * day of one table with LIMIT 1.
 */
const isConfigured = Boolean(process.env.BIGQUERY_PROJECT && process.env.BIGQUERY_TABLES);

describe.skipIf(!isConfigured)(
  'a real project (skipped: BIGQUERY_PROJECT and BIGQUERY_TABLES are not set)',
  () => {
    let engine: Engine;
    let definitions: readonly EndpointDefinition[];
    beforeAll(async () => {
      const emit = () => undefined;
      engine = await openEngine(readConfig({ ...process.env, ENGINE: 'bigquery' }), {
        clock: systemClock,
        emit,
      });
      const endpoints = await createEndpointRegistry({
        directory: 'sql',
        check: async () => undefined,
        emit,
        watch: false,
      });
      definitions = endpoints.all();
    });
    afterAll(() => engine?.close());

    const limits = () => ({ signal: new AbortController().signal, timeoutMs: 30_000, maxBytesBilled: 1e9 });
    const statementOf = (
      { name, sql, maxRows, parameters }: EndpointDefinition,
      values: Record<string, string>,
    ) => ({
      endpoint: name,
      sql,
      maxRows,
      parameters: parameters.map(parameter => ({
        name: parameter.name,
        value: values[parameter.name] ?? null,
      })),
    });

    test('every saved query passes a dry run, with the columns of its header', async () => {
      for (const definition of definitions) {
        const values = { project: 'nobody', interval: 'hourly' };
        const { columns } = await engine.explain(statementOf(definition, values), limits());
        expect(columns.map(({ name }) => name)).toEqual(definition.columns.map(({ name }) => name));
      }
    });

    // An emulator has no partitions.
    test.skipIf(process.env.BIGQUERY_API_ENDPOINT)(
      'the bounds of both saved queries prune partitions, in every subset and every interval',
      async () => {
        const findings = await checkPruning(
          statement => engine.explain(statement, limits()),
          definitions,
          Date.now(),
        );
        expect(findings.filter(({ verdict }) => verdict === 'reads everything')).toEqual([]);
        // Tables of one day, or without partitions, say nothing: then this run has not looked.
        expect(findings.filter(({ verdict }) => verdict === 'prunes')).not.toEqual([]);
      },
      // Some eighty dry runs, one after the other.
      300_000,
    );

    test('a query runs, and says what it cost', async () => {
      const { rowCount, receipt } = await engine.run(
        { endpoint: 'test', sql: 'select 1 as n limit 1', parameters: [], maxRows: 1 },
        limits(),
      );
      expect(rowCount).toBe(1);
      expect(receipt?.jobId).toBeTruthy();
    });
  },
);
