import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type BigQueryEngine, createBigQueryEngine } from '../../src/bigquery/bigquery-engine.ts';
import type { BigQueryEvent } from '../../src/bigquery/bigquery-events.ts';
import type { BigQueryEngineOptions } from '../../src/bigquery/bigquery-options.ts';
import { readTableMapping } from '../../src/bigquery/client/table-mapping.ts';
import type { Engine, RunOptions, Statement } from '../../src/engine/engine.ts';
import {
  cancelAnswer,
  type DryRunFacts,
  dryRunJob,
  incompleteAnswer,
  jobResource,
  tableAt,
  tableResource,
} from './bigquery-resources.ts';
import { boundDryRun } from './bound-dry-run.ts';
import { checkRequest } from './check-request.ts';
import { resultsFields } from './discovery-fields.ts';
import { Refusal } from './refusal.ts';
import { type Asked, type Deed, type Interference, perform, readAsked, refusal } from './warehouse-http.ts';

/** Answers of one kind of request, in order; the last one stays. */
export type Script = Readonly<Record<string, readonly Deed[]>>;

const fields = [{ name: 'n', type: 'INTEGER', mode: 'NULLABLE' }];

const jobReference = { projectId: 'payer', jobId: 'job_1', location: 'EU' };

/** A complete answer of `jobs.query`, with one column `n`; to `jobs.getQueryResults`, what that can say of it. */
export function complete(values: readonly string[], more: object = {}) {
  return {
    json: {
      kind: 'bigquery#queryResponse',
      jobComplete: true,
      jobReference,
      schema: { fields },
      rows: values.map(v => ({ f: [{ v }] })),
      totalRows: String(values.length),
      cacheHit: false,
      totalBytesProcessed: '10',
      totalBytesBilled: '20',
      totalSlotMs: '30',
      ...more,
    },
  } satisfies Deed;
}

/** An answer of `jobs.query` or `jobs.getQueryResults` before the job's end. */
export const incomplete = { json: incompleteAnswer('bigquery#queryResponse', jobReference) } satisfies Deed;

/** The answer to a dry run, by default of a text that reads one table and has one column `n`. */
export function dryRun(facts: DryRunFacts = {}) {
  const json = dryRunJob({ tables: ['acme-prod.logs.edge'], fields, bytes: 77, ...facts });
  return { json } satisfies Deed;
}

/** What is answered where the script says nothing. */
function unscripted(asked: Asked): Deed {
  const { what, path, params, body } = asked;
  const [, jobId = 'job_1'] = /\/(?:queries|jobs)\/([^/]+)/.exec(path) ?? [];
  const reference = { ...jobReference, jobId, location: params.get('location') ?? 'EU' };
  const query = { totalBytesProcessed: '10', totalBytesBilled: '20', statementType: 'SELECT' };
  switch (what) {
    case 'dryRun':
      return boundDryRun(asked);
    case 'insert': {
      const { jobReference: named, configuration } = body;
      return {
        json: jobResource({ reference: { ...reference, ...named }, configuration, state: 'RUNNING' }),
      };
    }
    case 'job':
      return { json: jobResource({ reference, query, totalSlotMs: '30' }) };
    case 'table':
      return { json: tableResource(tableAt(path)) };
    case 'cancel':
      return { json: cancelAnswer({ reference, state: 'RUNNING' }) };
    default:
      return complete(['1']);
  }
}

/**
 * An answer as `jobs.getQueryResults` gives it: it names the job that it was asked for, and has no word of what was billed,
 * which `jobs.get` says.
 */
function asResults(deed: Deed, { path, params }: Asked): Deed {
  if (typeof deed === 'string' || !('json' in deed) || !hasReference(deed.json)) return deed;
  const known = Object.entries(deed.json).filter(([name]) => resultsFields.split(' ').includes(name));
  const { location } = deed.json.jobReference;
  const named = {
    kind: 'bigquery#getQueryResultsResponse',
    jobReference: {
      projectId: 'payer',
      jobId: path.split('/').at(-1),
      location: params.get('location') ?? location,
    },
  };
  return { ...deed, json: { ...Object.fromEntries(known), ...named } };
}

function hasReference(json: unknown): json is { jobReference: { location?: string } } {
  return typeof json === 'object' && json !== null && 'jobReference' in json;
}

export type ScriptedEngine = {
  readonly engine: BigQueryEngine;
  readonly asked: readonly Asked[];
  readonly events: readonly BigQueryEvent[];
  /** How often each kind of request came, dry runs left out. */
  counts(): Record<string, number>;
  run(statement?: Partial<Statement>, options?: Partial<RunOptions>): ReturnType<Engine['run']>;
  /** As of `openWarehouse`. */
  interfere(rule: Interference): void;
  /** Requests that are not answered yet, and whose sender still waits. */
  held(): readonly Asked[];
  /** Connections that the warehouse has open. */
  openSockets(): Promise<number>;
  close(): Promise<void>;
};

/** A fake BigQuery server that follows a script. */
export async function openWarehouse(script: Script) {
  const asked: Asked[] = [];
  const counts: Record<string, number> = {};
  let interfere: Interference = () => undefined;
  const held = new Set<Asked>();
  const server = createServer(async (request, response) => {
    const seen = await readAsked(request);
    asked.push(seen);
    held.add(seen);
    response.once('close', () => held.delete(seen));
    counts[seen.what] = (counts[seen.what] ?? 0) + 1;
    const misread = misreadRequest(seen);
    if (misread) return perform(misread, response);
    const instead = interfere(seen);
    if (instead) return perform(seen.what === 'results' ? asResults(instead, seen) : instead, response);
    const deeds = script[seen.what] ?? [unscripted(seen)];
    const scripted = deeds[Math.min(counts[seen.what]!, deeds.length) - 1]!;
    const deed = scripted === 'asUsual' ? unscripted(seen) : scripted;
    await perform(seen.what === 'results' ? asResults(deed, seen) : deed, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // it listens on TCP
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    counts: () => {
      const { dryRun: _, ...others } = counts;
      return others;
    },
    /** Has requests treated otherwise than the script says from now on, where the rule says how. */
    interfere(rule: Interference) {
      interfere = rule;
    },
    /** Requests that are not answered yet, and whose sender still waits. */
    held: (): readonly Asked[] => [...held],
    openSockets: () =>
      new Promise<number>((resolve, reject) => {
        server.getConnections((error, count) => (error ? reject(error) : resolve(count)));
      }),
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** What BigQuery answers to a request that its schema has no place for, whatever the script says. */
function misreadRequest(asked: Asked): Deed | undefined {
  try {
    checkRequest(asked);
    return undefined;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return refusal(error.status, error.reason, error.message);
  }
}

/** A BigQuery engine over such a server. */
export async function openScripted(
  script: Script,
  options: Partial<BigQueryEngineOptions> = {},
): Promise<ScriptedEngine> {
  const warehouse = await openWarehouse(script);
  const events: BigQueryEvent[] = [];
  const engine = await createBigQueryEngine({
    project: 'payer',
    location: 'EU',
    endpoint: warehouse.url,
    mapping: readTableMapping(['cloudflare.logs.prod=acme-prod.logs.edge']),
    sources: [{ name: 'cloudflare.logs.prod', columns: { id: 'STRING', timestamp: 'TIMESTAMP' } }],
    emit: event => events.push(event),
    random: () => 0.5,
    retryBaseMs: 4,
    ...options,
  });
  return {
    ...warehouse,
    engine,
    events,
    run: (statement = {}, run = {}) =>
      engine.run(
        { endpoint: 'logs.all', sql: savedSql, parameters: [], maxRows: 1000, ...statement },
        { signal: new AbortController().signal, timeoutMs: 20_000, ...run },
      ),
    close: async () => {
      await engine.close();
      warehouse.close();
    },
  };
}

/** A saved query with one subset. */
export const savedSql =
  'with edge as (\n  select 1 as n, id from `cloudflare.logs.prod`\n)\nselect n from edge';
