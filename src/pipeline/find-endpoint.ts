import { GatewayError } from '../base/errors.ts';
import type { EndpointDefinition } from '../endpoints/definition.ts';
import type { EndpointRegistry } from '../endpoints/registry.ts';

/**
 * Finds an endpoint by name or UUID.
 * @throws GatewayError `endpoint_not_found`
 */
export function findEndpoint(
  endpoints: Pick<EndpointRegistry, 'find'>,
  reference: string,
): EndpointDefinition {
  const definition = endpoints.find(reference);
  if (definition) return definition;
  const shown = reference.length > 60 ? `${reference.slice(0, 60)}…` : reference;
  throw new GatewayError('endpoint_not_found', `No endpoint has the name or UUID ${JSON.stringify(shown)}`);
}
