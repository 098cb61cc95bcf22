import { systemClock } from '../base/clock.ts';
import { GatewayError } from '../base/errors.ts';
import { createCache } from '../cache/cache.ts';
import { warehouseOf } from '../composition/compose-engine.ts';
import type { Config } from '../composition/config.ts';
import { readFolderId } from '../duckdb/data-folder/folder-id.ts';
import type { RawParameters } from '../endpoints/parameters/read-parameter.ts';
import { createEndpointRegistry } from '../endpoints/registry.ts';
import { invalidateEndpoint } from '../pipeline/invalidate-endpoint.ts';
import { findEndpoint } from '../pipeline/plan-request.ts';
import { createRedisStore } from '../store/redis-store.ts';
import { refuseUnknown } from './command-line.ts';

/**
 * Invalidates cache entries from the command line, in Redis and in the memory of all gateways.
 * @param parameters of the one entry; absent: all entries of the endpoint
 * @throws UsageError, GatewayError; Error if the gateways share no cache
 */
export async function invalidateFromCommand(
  config: Config,
  endpoint: string,
  parameters: RawParameters | undefined,
): Promise<'endpoint' | 'entry'> {
  const emit = () => undefined;
  const endpoints = await createEndpointRegistry({
    directory: config.SQL_DIR,
    check: async () => undefined,
    emit,
    watch: false,
  });
  // If an unknown parameter were ignored, the wrong entry would be invalidated.
  if (parameters) refuseUnknown(findEndpoint(endpoints, endpoint), Object.keys(parameters));
  if (!config.REDIS_URL) {
    throw new GatewayError(
      'unavailable',
      'REDIS_URL is not set: the cache is in the gateway, where POST /admin/invalidate reaches it',
    );
  }
  const { REDIS_URL: url, REDIS_TIMEOUT_MS: storeTimeoutMs } = config;
  const warehouse = await warehouseOf(config, readFolderId);
  if (warehouse === undefined) {
    throw new GatewayError(
      'unavailable',
      `No gateway with a Redis has used DATA_DIR, ${config.DATA_DIR}: the command needs the settings of the gateways, ENGINE and those of its data among them`,
    );
  }
  const store = createRedisStore({ url, warehouse, deadlineMs: storeTimeoutMs });
  const cache = createCache({ store, storeTimeoutMs, memoryBytes: 0, clock: systemClock, emit });
  try {
    await cache.connect();
    if (!cache.storeHealth().isUp) {
      throw new GatewayError(
        'unavailable',
        'The Redis of REDIS_URL does not answer: nothing was invalidated',
      );
    }
    return await invalidateEndpoint({ endpoints, cache }, undefined, endpoint, parameters);
  } finally {
    await cache.close();
  }
}
