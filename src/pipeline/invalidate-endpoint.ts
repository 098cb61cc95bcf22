import type { Cache } from '../cache/cache.ts';
import type { EndpointRegistry } from '../endpoints/registry.ts';
import { bindQuery, type RawParameters } from './bind-parameters.ts';
import { findEndpoint } from './plan-request.ts';

type InvalidateDeps = {
  readonly endpoints: Pick<EndpointRegistry, 'find'>;
  readonly cache: Pick<Cache, 'invalidateEntry' | 'invalidateGroup'>;
};

/**
 * Invalidates stored answers in all gateways.
 * @param reference name or UUID of the endpoint
 * @param parameters as a caller sends them, `sql` among them: only the entry of these values; absent: all entries
 * @returns what was invalidated
 * @throws GatewayError `endpoint_not_found`, `invalid_parameter`, `unavailable`
 */
export async function invalidateEndpoint(
  { endpoints, cache }: InvalidateDeps,
  reference: string,
  parameters: RawParameters | undefined,
): Promise<'endpoint' | 'entry'> {
  const definition = findEndpoint(endpoints, reference);
  if (!parameters) {
    await cache.invalidateGroup(definition.name, definition.id);
    return 'endpoint';
  }
  await cache.invalidateEntry(definition.name, bindQuery(definition, parameters).key);
  return 'entry';
}
