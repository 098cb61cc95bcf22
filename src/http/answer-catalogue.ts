import type { ParameterDefinition } from '../endpoints/definition.ts';
import { graphqlName, sqlFieldName } from '../endpoints/names.ts';
import { readCredentials } from '../http-messages/caller-headers.ts';
import type { RequestContext } from '../http-messages/request-context.ts';
import type { HttpResponse } from '../http-messages/send-response.ts';
import { identifyCaller } from '../pipeline/identify-caller.ts';
import {
  coveredEndpoints,
  type ListedEndpoint,
  listEndpoint,
  listEndpoints,
} from '../pipeline/list-endpoints.ts';
import type { PipelineDeps } from '../pipeline/run-endpoint.ts';
import { privateJsonText } from './json-response.ts';

/**
 * Answers `GET /api/endpoints` and `GET /api/endpoints/<name or UUID>`: the saved queries that the token may read (contract 10.5).
 * @param reference name or UUID; absent: all of them
 * @throws GatewayError `unauthorized`, `forbidden`, `endpoint_not_found`, `too_many_requests`
 */
export async function answerCatalogue(
  deps: PipelineDeps,
  context: RequestContext,
  reference: string | undefined,
): Promise<HttpResponse> {
  const caller = await identifyCaller(deps.tokens, readCredentials(context.request.headers));
  const text = (listed: ListedEndpoint) => JSON.stringify(render(listed));
  const body =
    reference === undefined
      ? `{"endpoints":[${await listEndpoints(deps, caller, coveredEndpoints(deps, caller), text)}]}`
      : text(await listEndpoint(deps, caller, reference));
  return privateJsonText(body);
}

/** The object that `docs/rest.md` describes, without undefined members. */
function render({ definition, subsets, fixed }: ListedEndpoint): object {
  const { name, id, description, parameters, columns, sandbox, window, redactPii, labels } = definition;
  const path = `/api/endpoints/query/${name}`;
  return {
    name,
    id,
    description,
    path,
    graphql: { field: graphqlName(name), sql_field: sandbox ? sqlFieldName(name) : undefined },
    parameters: parameters.map(parameter => renderParameter(parameter, fixed.includes(parameter.name))),
    columns,
    subsets,
    sandbox,
    redact_pii: redactPii,
    labels,
    limits: {
      max_rows: definition.maxRows,
      max_bytes_billed: definition.maxBytesBilled,
      window: window && { ...window, default: window.default.text, max: window.max.text },
    },
    cache: {
      fresh_seconds: definition.cacheSeconds,
      stale_seconds: definition.staleSeconds,
      stale_if_error_seconds: definition.staleIfErrorSeconds,
      warm_seconds: definition.warmSeconds,
    },
    example: path + exampleQuery(parameters.filter(parameter => !fixed.includes(parameter.name))),
  };
}

function renderParameter(parameter: ParameterDefinition, isFixed: boolean): object {
  const { minLength: min_length, maxLength: max_length, typeName: _, aliases: __, ...rest } = parameter;
  return { ...rest, min_length, max_length, fixed: isFixed || undefined };
}

/** An example query string: with each parameter's example, else the first allowed value, else `<name>`. */
function exampleQuery(parameters: readonly ParameterDefinition[]): string {
  const pairs = parameters.flatMap(({ name, required, examples, values }): [string, string][] => {
    const [value = required ? values?.[0] : undefined] = examples ?? [];
    if (Array.isArray(value)) return value.map(element => [name, element]);
    if (value !== undefined) return [[name, String(value)]];
    return required ? [[name, `<${name}>`]] : [];
  });
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs)}`;
}
