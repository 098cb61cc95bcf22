import { type Caller, requireEndpoint } from '../auth/caller.ts';
import type { Cache } from '../cache/cache.ts';
import type { RawParameters } from '../endpoints/parameters/read-parameter.ts';
import type { EndpointRegistry } from '../endpoints/registry.ts';
import { bindQuery } from './bind-parameters.ts';
import { findEndpoint } from './plan-request.ts';

type InvalidateDeps = {
  readonly endpoints: Pick<EndpointRegistry, 'all' | 'find' | 'broken'>;
  readonly cache: Pick<Cache, 'invalidateEntry' | 'invalidateGroup'>;
};

/**
 * Invalidates cache entries in all gateways.
 * @param caller absent for a command
 * @param reference name or UUID of the endpoint
 * @param parameters as a caller sends them, `sql` included: invalidates only the entry of these values. Absent: all entries, or, for a
 * token that fixes parameters, only the entry of those
 * @returns what was invalidated
 * @throws GatewayError `endpoint_not_found`, `forbidden`, `invalid_parameter`, `unavailable`
 */
export async function invalidateEndpoint(
  { endpoints, cache }: InvalidateDeps,
  caller: Caller | undefined,
  reference: string,
  parameters: RawParameters | undefined,
): Promise<'endpoint' | 'entry'> {
  const definition = findEndpoint(endpoints, reference, caller);
  if (caller) requireEndpoint(caller, definition.name);
  const fixed = caller?.fixedParameters;
  if (!parameters && !fixed) {
    await cache.invalidateGroup(definition.name, definition.id);
    return 'endpoint';
  }
  await cache.invalidateEntry(definition.name, bindQuery(definition, parameters ?? {}, fixed).key);
  return 'entry';
}
