import DataLoader from 'dataloader';
import { readCredentials } from '../auth/read-credentials.ts';
import type { EndpointDefinition } from '../endpoints/definition.ts';
import { toGatewayError } from '../errors.ts';
import type { Exchange } from '../exchange.ts';
import type { RawParameters } from '../pipeline/bind-parameters.ts';
import { readRedactHeader } from '../pipeline/read-redact-header.ts';
import { readsNoCache } from '../pipeline/reads-no-cache.ts';
import { type Answer, type PipelineDeps, runEndpoint } from '../pipeline/run-endpoint.ts';
import { type Rows, readRows } from './read-rows.ts';
import type { FieldContext } from './schema-builder.ts';

/** What the fields of one operation share. */
export type OperationContext = FieldContext & {
  readonly requestId: string;
  /** The answers that the fields got, in the order in which they came. */
  readonly fieldAnswers: FieldAnswer[];
};

/** One field, by its path in the result, and the pipeline's answer to it. */
export type FieldAnswer = { readonly path: string; readonly answer: Answer };

/** One operation's context: its fields share one DataLoader, so equal fields are one request to the pipeline. */
export function openContext(
  pipeline: PipelineDeps,
  { requestId, request: { headers }, signal }: Exchange,
): OperationContext {
  type Key = { readonly endpoint: EndpointDefinition; readonly parameters: RawParameters };
  const load = async ({ endpoint, parameters }: Key) => {
    const answer = await runEndpoint(pipeline, {
      requestId,
      credentials: readCredentials(headers),
      endpoint: endpoint.name,
      readInput: () => ({
        parameters,
        redactPii: readRedactHeader(headers),
        noCache: readsNoCache(headers),
      }),
      signal,
    });
    return { answer, rows: { columns: answer.columns, rows: readRows(answer.body) } };
  };
  type Loaded = Awaited<ReturnType<typeof load>>;
  const loader = new DataLoader<Key, Loaded, string>(
    keys => Promise.all(keys.map(key => load(key).catch(toGatewayError))),
    { cacheKeyFn: ({ endpoint, parameters }) => JSON.stringify([endpoint.name, parameters]) },
  );
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
  return { requestId, fieldAnswers, loadRows };
}

/** The `extensions` of a result: the request's id, and for each field where its rows came from and how old they are. */
export function extensionsOf({
  requestId,
  fieldAnswers,
}: Pick<OperationContext, 'requestId' | 'fieldAnswers'>) {
  return {
    request_id: requestId,
    cache: fieldAnswers.map(({ path, answer }) => ({ path, ...answer.cache })),
  };
}
