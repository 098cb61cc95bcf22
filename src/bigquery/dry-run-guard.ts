import { LRUCache } from 'lru-cache';
import { GatewayError } from '../base/errors.ts';
import { inSpan } from '../base/spans.ts';
import type { Limit } from '../base/time-limit.ts';
import type { TableId } from '../endpoints/table-id.ts';
import type { QueryParameter } from '../engine/engine.ts';
import type { Field } from './answers/bigquery-answers.ts';
import type { BigQueryApi } from './client/bigquery-api.ts';
import type { Retries } from './client/retries.ts';
import type { TableMapping } from './client/table-mapping.ts';
import { dryRunBody } from './job-bodies.ts';

/** The result of BigQuery's dry run of a text. */
export type Verdict = {
  /** The columns; absent if the server does not report them. */
  readonly fields: readonly Field[] | undefined;
  /** Sources whose tables it reads; empty if there are none, or the server does not report them. */
  readonly sources: readonly string[];
  readonly estimatedBytes: number | undefined;
  /** The region in which the query would run; absent if the server does not report it. */
  readonly location: string | undefined;
};

/** A text, the sources that it reads according to our own front-end, and its parameters, whose types matter to the dry run. */
export type GuardRequest = {
  readonly text: string;
  /** Names of the sources whose tables the text reads. */
  readonly sources: readonly string[];
  readonly parameters: readonly QueryParameter[];
};

type Waiting = { readonly retries: Retries; readonly limit: Limit };

export type DryRunGuard = {
  /**
   * Checks that BigQuery itself sees the text as a SELECT over the tables of its sources.
   * @returns the region in which to run it; undefined if the server does not report it
   * @throws GatewayError `sandbox_refused`; BigQueryFailure for a text that BigQuery refuses
   */
  check(request: GuardRequest, waiting: Waiting): Promise<string | undefined>;
  /** The same without remembered verdicts: sizes of tables change. */
  ask(request: GuardRequest, waiting: Waiting): Promise<Verdict>;
};

/** Texts whose verdict is kept, their characters, and for how many milliseconds: a table may be replaced by a view. */
const kept = {
  max: 2000,
  maxSize: 16_000_000,
  sizeCalculation: (_passed: object, key: string) => key.length,
  ttl: 3_600_000,
};

export type DryRunGuardOptions = {
  readonly api: Pick<BigQueryApi, 'insert'>;
  readonly mapping: TableMapping;
  /**
   * Emulators run a query that they should dry-run, and omit its tables, some its statement too. Their omissions are no reason to
   * refuse it: they get no credentials, and our own front-end knows what a text reads. What they do say counts.
   */
  readonly isEmulator: boolean;
};

/**
 * Makes the sandbox's second check: a dry run, once for each text. Before a text that our front-end accepted runs, BigQuery itself
 * resolves it.
 */
export function createDryRunGuard({ api, mapping, isEmulator }: DryRunGuardOptions): DryRunGuard {
  const sourceOf = new Map([...mapping].map(([source, table]) => [tableKey(table), source]));
  const passed = new LRUCache<string, { readonly location: string | undefined }>(kept);
  const keyOf = ({ text, parameters }: GuardRequest) =>
    JSON.stringify([text, parameters.map(({ name, value, type }) => [name, Array.isArray(value), type])]);

  async function ask(request: GuardRequest, { retries, limit }: Waiting): Promise<Verdict> {
    const attributes = { 'db.system.name': 'gcp.bigquery', 'db.operation.name': 'dry run' };
    const { statistics, jobReference } = await inSpan('dry run', { kind: 'client', attributes }, () =>
      retries.newRequest(() => api.insert(dryRunBody(request), limit.signal)),
    );
    const query = statistics?.query;
    const statement = query?.statementType ?? (isEmulator ? 'SELECT' : 'unknown');
    if (statement !== 'SELECT') throw refused('Only a query is allowed');
    const sources = (query?.referencedTables ?? []).map(({ projectId, datasetId, tableId }) => {
      const source = sourceOf.get(tableKey({ project: projectId, dataset: datasetId, table: tableId }));
      // Also refused if it is a mapped table: according to our own front-end the text does not read it.
      if (source === undefined || !request.sources.includes(source))
        throw refused('The query reads a table that is none of its sources');
      return source;
    });
    const estimatedBytes = query?.totalBytesProcessed ?? statistics?.totalBytesProcessed;
    const readsNothing = request.sources.length === 0 && estimatedBytes === 0;
    if (sources.length === 0 && !readsNothing && !isEmulator) {
      throw refused('The warehouse does not say what the query reads');
    }
    const location = jobReference.location;
    passed.set(keyOf(request), { location });
    return { fields: query?.schema?.fields, sources, estimatedBytes, location };
  }

  return {
    ask,
    async check(request, waiting) {
      const known = passed.get(keyOf(request));
      if (known) return known.location;
      const asked = isEmulator ? { ...request, parameters: unbound(request.parameters) } : request;
      return (await ask(asked, waiting)).location;
    },
  };
}

/** Types without values: an emulator runs the query, and unneeded rows would make it slow, or fail when it can't store them. */
function unbound(parameters: readonly QueryParameter[]): QueryParameter[] {
  return parameters.map(parameter => ({ ...parameter, value: Array.isArray(parameter.value) ? [] : null }));
}

function tableKey({ project, dataset, table }: TableId): string {
  return `${project}.${dataset}.${table}`;
}

function refused(message: string): GatewayError {
  return new GatewayError('sandbox_refused', message);
}
