import { setTimeout as delay } from 'node:timers/promises';
import { sampleProjects } from '../../src/sample/vocabulary.ts';
import type { FleetAnswer, FleetGateway } from '../support/fleet.ts';

/** One request of somebody who did nothing wrong. */
export type PlainRequest = {
  readonly kind: PlainKind;
  readonly ms: number;
  /** What was wrong with the answer; absent where nothing was. */
  readonly failure?: string;
};

/** Callers who ask again and again, each at its own pace, until they are stopped. */
export type PlainCallers = {
  /** What ended since the last call. */
  take(): PlainRequest[];
  /** Waits for what is under way. */
  stop(): Promise<void>;
};

const [project] = sampleProjects;
const usage = (interval: string, pattern: string) =>
  `/api/endpoints/query/usage.api-counts?interval=${interval}&project=${encodeURIComponent(pattern)}`;
const path = '/api/endpoints/query/logs.all';
const logs = `${path}?project=${project}`;
const graphql = (query: string) => ({ query });
const tool = {
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'usage_api-counts', arguments: { interval: 'hourly', project } },
};
const agent = { accept: 'application/json, text/event-stream' };
/** A body of over 32 KiB is parsed in a turn of the event loop of its own, a result of over 512 KiB waits for few others. */
const longRemark = 'x'.repeat(40_000);
const large = `{ logsAll(project: "${project}", sql: "select * from edge_logs limit 1000") { id } }`;
let fresh = 0;
/** A pattern that nobody asked for before. */
const newProject = () => `${project}|plain${process.pid}x${fresh++}`;
const newSql = () => `select count(*) as n from edge_logs where id != '${process.pid}x${fresh++}'`;

/** What plain callers ask for. */
const plainKinds = {
  livez: gateway => gateway.get('/livez', {}, timeout()),
  'logs.all': gateway => gateway.get(logs, {}, timeout()),
  redacted: gateway => gateway.get(logs, { 'lf-endpoint-redact-pii': 'true' }, timeout()),
  CSV: gateway => gateway.get(`${logs}&format=csv`, {}, timeout()),
  'own SQL': gateway => gateway.get(`${logs}&sql=${encodeURIComponent(newSql())}`, {}, timeout()),
  'long body': gateway => gateway.post(path, { project, sql: `${newSql()} -- ${longRemark}` }, timeout()),
  tool: gateway => gateway.post('/mcp', tool, timeout(), agent),
  hit: gateway => gateway.get(usage('hourly', project), {}, timeout()),
  miss: gateway => gateway.get(usage('minutely', newProject()), {}, timeout()),
  'GraphQL logsAll': gateway =>
    gateway.post('/graphql', graphql(`{ logsAll(project: "${project}") { id metadata } }`), timeout()),
  'large GraphQL': gateway => gateway.post('/graphql', graphql(large), timeout()),
  'GraphQL hit': gateway => gateway.post('/graphql', graphql(counts('HOURLY', project)), timeout()),
  'GraphQL miss': gateway => gateway.post('/graphql', graphql(counts('MINUTELY', newProject())), timeout()),
} satisfies Record<string, (gateway: FleetGateway) => Promise<FleetAnswer>>;

export type PlainKind = keyof typeof plainKinds;
const kinds = Object.keys(plainKinds) as PlainKind[]; // its own keys

function counts(interval: string, pattern: string): string {
  return `{ usageApiCounts(interval: ${interval}, project: "${pattern}") { timestamp totalRestRequests } }`;
}

/** Nobody waits longer than this for an answer. */
const timeout = () => AbortSignal.timeout(20_000);

/** Starts callers of every kind. @param paceMs from the start of a request to that of the next one; default 150 */
export function startPlainCallers(
  gateway: FleetGateway,
  { paceMs = 150, each = 1 }: { paceMs?: number; each?: number } = {},
): PlainCallers {
  let done: PlainRequest[] = [];
  let isStopped = false;
  const caller = async (kind: PlainKind) => {
    while (!isStopped) {
      const startedMs = performance.now();
      const failure = await plainKinds[kind](gateway).then(failureOf, String);
      const ms = performance.now() - startedMs;
      done.push({ kind, ms, ...(failure === undefined ? {} : { failure: `${kind}: ${failure}` }) });
      await delay(Math.max(0, paceMs - ms));
    }
  };
  const callers = Array.from({ length: each }, () => kinds.map(caller)).flat();
  return {
    take() {
      const taken = done;
      done = [];
      return taken;
    },
    async stop() {
      isStopped = true;
      await Promise.all(callers);
    },
  };
}

/** Waits until callers have had three answers of every kind: code is compiled by then, and engine processes and threads are there. */
export async function untilWarm(callers: Pick<PlainCallers, 'take'>): Promise<void> {
  const left = new Map(kinds.map(kind => [kind, 3]));
  while (left.values().some(count => count > 0)) {
    await delay(50);
    for (const { kind } of callers.take()) left.set(kind, left.get(kind)! - 1);
  }
}

function failureOf({ status, text, headers }: FleetAnswer): string | undefined {
  if (status !== 200) return `${status} ${text.slice(0, 200)}`;
  if (headers['content-type']?.startsWith('text/csv') && text.includes('\n')) return undefined;
  const { result, data, errors, status: health } = JSON.parse(text);
  if (errors || result?.isError) return text.slice(0, 200);
  if (result ?? data ?? health) return undefined;
  return `no rows: ${text.slice(0, 200)}`;
}
