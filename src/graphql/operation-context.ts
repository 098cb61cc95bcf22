import DataLoader from 'dataloader';
import type { Caller } from '../auth/caller.ts';
import { type GatewayError, toGatewayError } from '../base/errors.ts';
import { openBatch } from '../batch/batch-queries.ts';
import type { RunQuery } from '../batch/run-queries.ts';
import type { EndpointDefinition } from '../endpoints/definition.ts';
import type { RawParameters } from '../endpoints/parameters/read-parameter.ts';
import type { CallerHeaders } from '../http-messages/caller-headers.ts';
import type { RequestFacts } from '../http-messages/request-context.ts';
import { type Redaction, redactionOfMessages } from '../pipeline/representation.ts';
import { type Answer, type PipelineDeps, runEndpoint } from '../pipeline/run-endpoint.ts';
import type { OperationBudget } from './operation-budget.ts';
import { boundedList } from './operation-budget.ts';
import { readRows, readRowTexts } from './read-rows.ts';
import type { FieldContext } from './schema-builder.ts';

/** The request of an operation: read and authenticated once for all fields. */
export type OperationRequest = {
  readonly requestId: string;
  readonly facts: RequestFacts;
  readonly headers: CallerHeaders;
  readonly caller: Caller;
  /** Aborted when the caller goes away or its deadline passes. */
  readonly signal: AbortSignal;
};

/** What the fields of one operation share. */
export type OperationContext = FieldContext & {
  readonly requestId: string;
  readonly caller: Caller;
  readonly budget: OperationBudget;
  /** The redaction of GraphQL's own messages, whose saved query is not known. */
  readonly redact: Redaction;
  /** Holds the result of the operation until it is written. An object of its own because Yoga copies the context. */
  readonly output: {
    result?: object;
    /** A document to keep under its hash as soon as it is known to be valid. */
    document?: { readonly hash: string; readonly text: string };
  };
  /** The answers of the fields, in the order of their arrival. */
  readonly fieldAnswers: FieldAnswer[];
};

/** One field, by its path in the result, and the pipeline's answer to it. */
export type FieldAnswer = { readonly path: string; readonly answer: Answer };

/** Milliseconds for which fields that need a query wait until the others know whether they do: one read of the store, not a query. */
const batchTimeoutMs = 60;

/** Opens the context of one operation: its fields share one DataLoader, so equal fields are one request to the pipeline. */
export function openContext(
  pipeline: PipelineDeps,
  { requestId, facts, headers, caller, signal: outer }: OperationRequest,
  budget: OperationBudget,
): OperationContext {
  const signal = AbortSignal.any([outer, budget.signal]);
  // The operation's schema was built from this version of the endpoints or a later one.
  const { version } = pipeline.endpoints;
  type Key = { readonly definition: EndpointDefinition; readonly parameters: RawParameters };
  // The operation itself was counted as one request, which covers its first field.
  let isCounted = true;
  const load = async ({ definition, parameters }: Key, runQuery: RunQuery) => {
    const counts = { isCounted };
    isCounted = false;
    const answer = await runEndpoint(pipeline, {
      ...counts,
      requestId,
      facts,
      headers,
      caller,
      endpoint: { definition, version },
      readParameters: () => parameters,
      signal,
      runQuery,
    });
    budget.addRows(answer.body.length);
    await budget.enterIfLarge(signal);
    return answer;
  };
  const loader = new DataLoader<Key, Answer, string>(keys => loadTogether(keys), {
    cacheKeyFn: ({ definition, parameters }) => JSON.stringify([definition.name, parameters], keepMinusZero),
  });
  /** Loads several fields. Those that miss the cache share one run if their saved query has a batch form. */
  async function loadTogether(keys: readonly Key[]): Promise<(Answer | GatewayError)[]> {
    if (keys.length === 1) return [await load(keys[0]!, pipeline.runQuery).catch(toGatewayError)];
    const batch = openBatch(pipeline.runStatement, keys.length, batchTimeoutMs);
    return Promise.all(
      keys.map(key => {
        const place = batch.join();
        return load(key, place.run).catch(toGatewayError).finally(place.leave);
      }),
    );
  }

  const fieldAnswers: FieldAnswer[] = [];
  /** Makes a loader of fields' rows: `read` converts each body once, even if several fields have the same one. */
  const loadsAs = <Rows>(read: (body: Buffer) => Promise<Rows>) => {
    const readOnce = readEachOnce(read);
    return async (...[definition, parameters, path]: Parameters<FieldContext['loadRows']>) => {
      const answer = await loader.load({ definition, parameters });
      const { columns, body } = answer;
      const rows = await readOnce(body);
      fieldAnswers.push({ path, answer });
      return { columns, bytes: body.length, rows };
    };
  };
  const loadRows: FieldContext['loadRows'] = loadsAs(body => readRows(body, budget.turns));
  const loadRowTexts: FieldContext['loadRowTexts'] = loadsAs(body => readRowTexts(body, budget.turns));
  const list: FieldContext['list'] = (items, info, options) =>
    boundedList(budget, items, info, { signal, ...options });
  const redact = redactionOfMessages(pipeline.redactKinds, headers, caller);
  return { requestId, caller, budget, redact, output: {}, fieldAnswers, loadRows, loadRowTexts, list };
}

/** A replacer for JSON.stringify, which would write -0 as 0; no number is written as this text. */
const keepMinusZero = (_key: string, value: unknown) => (Object.is(value, -0) ? '-0' : value);

/** Equal fields of an operation share one body, which is read only once. */
function readEachOnce<T>(read: (body: Buffer) => Promise<T>): (body: Buffer) => Promise<T> {
  const known = new Map<Buffer, Promise<T>>();
  return body => {
    const found = known.get(body) ?? read(body);
    known.set(body, found);
    return found;
  };
}

/** The `extensions` of a result: the request's id, and for each field where its rows came from, their age, whether some were cut off, and what they cost. */
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
