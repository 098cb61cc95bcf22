import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { toGatewayError } from '../../src/base/errors.ts';
import { createBigQueryEngine } from '../../src/bigquery/bigquery-engine.ts';
import { readTableMapping } from '../../src/bigquery/client/table-mapping.ts';

/**
 * A process that asks the warehouse at a URL for every case it is given. When its standard input ends it closes its engine, and
 * does no more: it must end by itself.
 * Arguments: the URL, and cases, `<fault>.<ending>`; a fault is for the warehouse to do, and the ending how the caller leaves.
 * It writes one line of JSON: how each case ended, and what stays alive after the last one. Three cancels of a job that are not answered,
 * with two pauses, take four seconds, and more on a busy machine; a pause that nobody ended lasts longer than the probe looks.
 */
const [url = '', ...cases] = process.argv.slice(2);
const engine = await createBigQueryEngine({
  project: 'payer',
  endpoint: url,
  mapping: readTableMapping(['cloudflare.logs.prod=acme-prod.logs.edge']),
  sources: [{ name: 'cloudflare.logs.prod', columns: { id: 'STRING', timestamp: 'TIMESTAMP' } }],
  emit: () => undefined,
  random: () => 0,
  maxRetries: 2,
  retryBaseMs: 20_000,
  backgroundPriority: 'BATCH',
});

/** Milliseconds after which a pause of twenty seconds is still there: who leaves must not leave one behind. */
const lookMs = 12_000;

type Ending = { readonly how: string; readonly ms: number };

async function end(name: string): Promise<readonly [string, Ending]> {
  const startedMs = performance.now();
  const ended = (how: string) => [name, { how, ms: performance.now() - startedMs }] as const;
  const [, ending] = name.split('.');
  const leaving = new AbortController();
  const isLeft = ending === 'left' || ending === 'batch';
  const timer = isLeft ? setTimeout(() => leaving.abort(), 200) : undefined;
  const sql = `with edge as (select id from \`cloudflare.logs.prod\`) select '${name}' as fault from edge`;
  const statement = { endpoint: 'logs.all', sql, parameters: [], maxRows: 10 };
  // Who leaves had time enough: a timer that is not ended would still be there.
  const timeoutMs = isLeft ? 30_000 : ending === 'late' ? 200 : 3000;
  const options = { signal: leaving.signal, timeoutMs };
  const priority = ending === 'batch' ? 'background' : 'interactive';
  try {
    await engine.run(statement, { ...options, priority });
    return ended('rows');
  } catch (error) {
    return ended(toGatewayError(error).code);
  } finally {
    clearTimeout(timer);
  }
}

const endings: (readonly [string, Ending])[] = [];
// One kind of ending after the other: all at once would keep the processor busy past their deadlines.
for (const [, some = []] of Map.groupBy(cases, name => name.split('.')[1])) {
  endings.push(...(await Promise.all(some.map(end))));
}
const alive = await staysAlive();
process.stdout.write(`${JSON.stringify({ endings: Object.fromEntries(endings), alive })}\n`);
await once(process.stdin.resume(), 'end');
await engine.close();

async function staysAlive(): Promise<readonly string[]> {
  for (const startedMs = performance.now(); ; await sleep(50)) {
    const alive = process.getActiveResourcesInfo().filter(resource => resource !== 'PipeWrap');
    if (alive.length === 0 || performance.now() - startedMs > lookMs) return alive;
  }
}
