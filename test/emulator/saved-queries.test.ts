import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sampleProjects } from '../../src/sample/vocabulary.ts';
import { bothAnswer, contentOf, logs, project, rest } from './compare-gateways.ts';
import { startEmulatorTwins } from './start-emulator-twins.ts';

let twins: Awaited<ReturnType<typeof startEmulatorTwins>>;
beforeAll(async () => {
  twins = await startEmulatorTwins();
}, 300_000);
afterAll(() => twins?.stop());

const hourAgo = () => new Date(Date.now() - 3_600_000).toISOString();

describe('both saved queries', () => {
  test.each<[what: string, endpoint: string, parameters: () => Record<string, string>, leastRows: number]>([
    ['all rows', 'logs.all', () => ({ project }), 60],
    ['of another project', 'logs.all', () => ({ project: sampleProjects[1] }), 30],
    ['of nobody', 'logs.all', () => ({ project: 'nobody' }), 0],
    ['since', 'logs.all', () => ({ project, iso_timestamp_start: hourAgo(), iso_timestamp_end: '' }), 10],
    ['until', 'logs.all', () => ({ project, iso_timestamp_start: '2020-01-01', iso_timestamp_end: hourAgo() }), 30],
    ['minutely', 'usage.api-counts', () => ({ project, interval: 'minutely' }), 5],
    ['hourly', 'usage.api-counts', () => ({ project, interval: 'hourly' }), 1],
    ['daily', 'usage.api-counts', () => ({ project, interval: 'daily' }), 6],
    ['of everybody', 'usage.api-counts', () => ({ project: '.', interval: 'daily' }), 6],
    ['by a pattern', 'usage.api-counts', () => ({ project: String.raw`^https://[a-p]\w+\.supabase`, interval: 'daily' }), 6],
  ])('%s: %s', async (_, endpoint, parameters, leastRows) => {
    const given = parameters();
    const { overEmulator, embedded } = await bothAnswer(twins, gateway => gateway.get(rest(endpoint, given)));
    expect([overEmulator.status, overEmulator.text]).toEqual([200, embedded.text]);
    expect(JSON.parse(overEmulator.text).result.length).toBeGreaterThanOrEqual(leastRows);
  }); // biome-ignore format: a table

  test('columns and sources of an explanation', async () => {
    const explain = `${logs('select id, count(*) as n from edge_logs group by id')}&explain=true`;
    const { overEmulator, embedded } = await bothAnswer(twins, gateway => gateway.get(explain));
    const { columns, sources, verdict } = JSON.parse(overEmulator.text).explain;
    expect(verdict).toBe('ok');
    expect(JSON.parse(embedded.text).explain).toMatchObject({ columns, sources });
  });
});

describe('the batch form', () => {
  /** Asks for many projects in one operation: rows by project, as REST writes them. */
  async function askTogether(patterns: readonly string[], interval: string) {
    const fields = 'timestamp totalRestRequests totalStorageRequests totalAuthRequests totalRealtimeRequests';
    const aliases = patterns.map(
      (_, at) => `p${at}: usageApiCounts(project: $p${at}, interval: ${interval}) { ${fields} }`,
    );
    const query = `query(${patterns.map((_, at) => `$p${at}: String!`).join(', ')}) { ${aliases.join(' ')} }`;
    const variables = Object.fromEntries(patterns.map((pattern, at) => [`p${at}`, pattern]));
    const { data, errors } = JSON.parse(
      (await twins.overEmulator.post('/graphql', { query, variables })).text,
    );
    expect(errors).toBeUndefined();
    return Object.values<Record<string, unknown>[]>(data).map(rows => rows.map(inRestForm));
  }

  function inRestForm({ timestamp, ...counts }: Record<string, unknown>) {
    const named = Object.entries(counts).map(([name, count]) => [
      name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`),
      count,
    ]);
    return { timestamp: String(timestamp).replace('Z', ''), ...Object.fromEntries(named) };
  }

  const beginnings = sampleProjects.flatMap(ref => [4, 8, 12, 16].map(length => ref.slice(0, length)));
  const endings = sampleProjects.flatMap(ref => [6, 12].map(length => ref.slice(length)));
  const others = ['nobody', 'x.*z', '^https://(a|m)', 'r{2}', '.', '[aeiou]t', 'q$', 'supabase'];
  const fifty = [...sampleProjects, ...beginnings, ...endings, ...others];

  test.each(['MINUTELY', 'HOURLY', 'DAILY'])(
    'fifty projects in one scan of the emulator are fifty single runs of the embedded engine, %s',
    async interval => {
      const together = await askTogether(fifty, interval);
      const singles: unknown[] = [];
      for (const pattern of fifty) {
        const path = rest('usage.api-counts', { project: pattern, interval: interval.toLowerCase() });
        singles.push(JSON.parse((await twins.embedded.get(path)).text).result);
      }
      expect(together).toEqual(singles);
      expect(together[0]!.length).toBeGreaterThan(0);
      expect(together[fifty.indexOf('nobody')]).toEqual([]);
    },
    120_000,
  );
});

describe("a caller's SQL over usage.api-counts", () => {
  test.each([
    'select date(bucket) as day, path, count(*) as n from requests group by day, path order by day, path limit 20',
    'select bucket, count(*) as n from requests group by bucket order by bucket',
    "select path, count(*) as n from requests where path like '/rest%' group by path order by n desc, path",
  ])('%s', async sql => {
    const path = rest('usage.api-counts', { project, interval: 'daily', sql });
    const { overEmulator, embedded } = await bothAnswer(twins, gateway => gateway.get(path));
    expect(contentOf(embedded)).toHaveProperty('rows');
    expect(contentOf(overEmulator)).toEqual(contentOf(embedded));
  });
});
