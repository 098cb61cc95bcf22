import DataLoader from 'dataloader';
import { type GatewayError, toGatewayError } from '../base/errors.ts';
import { openGathering, type RunEndpointQuery } from '../batch/gather-queries.ts';
import type { EndpointDefinition } from '../endpoints/definition.ts';
import type { Exchange } from '../http-messages/exchange.ts';
import { readCredentials } from '../http-messages/read-credentials.ts';
import { readRedactHeader } from '../http-messages/read-redact-header.ts';
import { readsNoCache } from '../http-messages/reads-no-cache.ts';
import type { RawParameters } from '../pipeline/bind-parameters.ts';
import { readLabelsHeader } from '../pipeline/query-labels.ts';
import { type Answer, type PipelineDeps, runEndpoint } from '../pipeline/run-endpoint.ts';
import { boundedList } from './bounded-list.ts';
import type { OperationBudget } from './operation-budget.ts';
import { type Rows, readRows } from './read-rows.ts';
import type { FieldContext } from './schema-builder.ts';

/** What the fields of one operation share. */
export type OperationContext = FieldContext & {
  readonly requestId: string;
  readonly budget: OperationBudget;
  /** Holds what the operation came to, ready to be written; Yoga copies the context, so it is set within. */
  readonly output: { result?: object };
  /** The answers that the fields got, in the order in which they came. */
  readonly fieldAnswers: FieldAnswer[];
};

/** One field, by its path in the result, and the pipeline's answer to it. */
export type FieldAnswer = { readonly path: string; readonly answer: Answer };

/** Milliseconds that fields which need a query wait for those that may yet: for a look into the store, not for a query. */
const patienceMs = 60;

/** One operation's context: its fields share one DataLoader, so equal fields are one request to the pipeline. */
export function openContext(
  pipeline: PipelineDeps,
  { requestId, request: { headers }, signal: caller }: Exchange,
  budget: OperationBudget,
): OperationContext {
  const signal = AbortSignal.any([caller, budget.signal]);
  type Key = { readonly endpoint: EndpointDefinition; readonly parameters: RawParameters };
  const load = async ({ endpoint, parameters }: Key, runEndpointQuery: RunEndpointQuery) => {
    const answer = await runEndpoint(
      { ...pipeline, runEndpointQuery },
      {
        requestId,
        credentials: readCredentials(headers),
        endpoint: endpoint.name,
        readInput: () => ({
          parameters,
          redactPii: readRedactHeader(headers),
          noCache: readsNoCache(headers),
          labels: readLabelsHeader(headers),
        }),
        signal,
      },
    );
    const { columns, body } = answer;
    budget.addRows(body.length);
    await budget.enterIfLarge(signal);
    const rows: Rows = { columns, bytes: body.length, rows: await readRows(body, budget.turns) };
    return { answer, rows };
  };
  type Loaded = Awaited<ReturnType<typeof load>>;
  const loader = new DataLoader<Key, Loaded, string>(keys => loadTogether(keys), {
    cacheKeyFn: ({ endpoint, parameters }) => JSON.stringify([endpoint.name, parameters]),
  });
  /** What the cache lacks of them is left to one run where the saved query has a batch form. */
  async function loadTogether(keys: readonly Key[]): Promise<(Loaded | GatewayError)[]> {
    if (keys.length === 1) return [await load(keys[0]!, pipeline.runEndpointQuery).catch(toGatewayError)];
    const gathering = openGathering(pipeline.runStatement, keys.length, patienceMs);
    return Promise.all(
      keys.map(key => {
        const place = gathering.join();
        return load(key, place.run).catch(toGatewayError).finally(place.leave);
      }),
    );
  }

  const fieldAnswers: FieldAnswer[] = [];
  const loadRows = async (
    endpoint: EndpointDefinition,
    parameters: RawParameters,
    path: string,
  ): Promise<Rows> => {
    const { answer, rows } = await loader.load({ endpoint, parameters });
    fieldAnswers.push({ path, answer });
    return rows;
  };
  const list: FieldContext['list'] = (items, info, options) =>
    boundedList(budget, items, info, { signal, ...options });
  return { requestId, budget, output: {}, fieldAnswers, loadRows, list };
}

/** The `extensions` of a result: the request's id, and for each field where its rows came from, how old they are, whether some were cut and what they cost. */
export function extensionsOf({
  requestId,
  fieldAnswers,
}: Pick<OperationContext, 'requestId' | 'fieldAnswers'>) {
  return {
    request_id: requestId,
    cache: fieldAnswers.map(({ path, answer }) => ({
      path,
      ...answer.cache,
      ...(answer.isTruncated && { truncated: true, maxRows: answer.endpoint.maxRows }),
      ...(answer.receipt && { receipt: answer.receipt }),
    })),
  };
}
