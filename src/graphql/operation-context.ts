import DataLoader from 'dataloader';
import { readCredentials } from '../auth/read-credentials.ts';
import type { EndpointDefinition } from '../endpoints/definition.ts';
import { toGatewayError } from '../errors.ts';
import type { Exchange } from '../exchange.ts';
import type { RawParameters } from '../pipeline/bind-parameters.ts';
import { readRedactHeader } from '../pipeline/read-redact-header.ts';
import { type PipelineDeps, runEndpoint } from '../pipeline/run-endpoint.ts';
import { type Rows, readRows } from './read-rows.ts';
import type { FieldContext } from './schema-builder.ts';

/** What the fields of one operation share. */
export type OperationContext = FieldContext & {
  readonly requestId: string;
  readonly cacheFacts: CacheFact[];
};

/** Where a field's rows came from; `extensions.cache` lists one for each field. */
type CacheFact = { readonly path: string; readonly state: string; readonly ageSeconds: number };

/** One operation's context: its fields share one DataLoader, so equal fields are one request to the pipeline. */
export function openContext(
  pipeline: PipelineDeps,
  { requestId, request, signal }: Exchange,
): OperationContext {
  type Key = { readonly endpoint: EndpointDefinition; readonly parameters: RawParameters };
  const load = async ({ endpoint, parameters }: Key) => {
    const answer = await runEndpoint(pipeline, {
      requestId,
      credentials: readCredentials(request.headers),
      endpoint: endpoint.name,
      readInput: () => ({ parameters, redactPii: readRedactHeader(request.headers) }),
      signal,
    });
    return { columns: answer.columns, rows: readRows(answer.body), cache: answer.cache };
  };
  type Loaded = Awaited<ReturnType<typeof load>>;
  const loader = new DataLoader<Key, Loaded, string>(
    keys => Promise.all(keys.map(key => load(key).catch(toGatewayError))),
    { cacheKeyFn: ({ endpoint, parameters }) => JSON.stringify([endpoint.name, parameters]) },
  );
  const cacheFacts: CacheFact[] = [];
  const loadRows = async (
    endpoint: EndpointDefinition,
    parameters: RawParameters,
    path: string,
  ): Promise<Rows> => {
    const { cache, ...rows } = await loader.load({ endpoint, parameters });
    cacheFacts.push({ path, ...cache });
    return rows;
  };
  return { requestId, cacheFacts, loadRows };
}
