import type { IncomingMessage } from 'node:http';
import { LRUCache } from 'lru-cache';
import type { Plan } from '../pipeline/plan-request.ts';
import { hasBody } from './read-body.ts';

/** What earlier requests meant, so that the same request need not be read again. */
export type PlanMemo = {
  get(request: IncomingMessage): Plan | undefined;
  set(request: IncomingMessage, plan: Plan): void;
};

const maxBytes = 16 * 1024 * 1024;

/** What a plan keeps beside its key. */
const planBytes = 1024;

/**
 * Makes an empty memo. Only whole requests without a body are equal: the same URL and the same headers that the REST door
 * reads. Whether a plan still holds is for the pipeline to say.
 */
export function createPlanMemo(): PlanMemo {
  const plans = new LRUCache<string, Plan>({
    maxSize: maxBytes,
    sizeCalculation: (_plan, key) => planBytes + 2 * key.length,
  });
  return {
    get(request) {
      return isPlain(request) ? plans.get(keyOf(request)) : undefined;
    },
    set(request, plan) {
      if (isPlain(request)) plans.set(keyOf(request), plan);
    },
  };
}

function isPlain(request: IncomingMessage): boolean {
  return (request.method === 'GET' || request.method === 'HEAD') && !hasBody(request);
}

/** What no header can hold. */
const absent = '\n';

function keyOf({ url, headers }: IncomingMessage): string {
  const { authorization = absent, accept = absent, 'cache-control': cacheControl = absent } = headers;
  const apiKey = headers['x-api-key'] ?? absent;
  const redact = headers['lf-endpoint-redact-pii'] ?? absent;
  return `${url}\n${authorization}\n${apiKey}\n${redact}\n${cacheControl}\n${accept}`;
}
