import { z } from 'zod';
import { GatewayError } from '../base/errors.ts';
import { isJsonObject } from '../base/json.ts';
import { readCredentials } from '../http-messages/caller-headers.ts';
import { maxBodyBytes } from '../http-messages/http-limits.ts';
import { readJsonBody } from '../http-messages/read-json-body.ts';
import type { RequestContext } from '../http-messages/request-context.ts';
import type { HttpResponse } from '../http-messages/send-response.ts';
import { identifyCaller } from '../pipeline/identify-caller.ts';
import { invalidateEndpoint } from '../pipeline/invalidate-endpoint.ts';
import type { PipelineDeps } from '../pipeline/run-endpoint.ts';
import { privateJson } from './json-response.ts';

const orderSchema = z.strictObject({
  endpoint: z.string(),
  // Not checked or copied member by member: a body may have a hundred thousand.
  parameters: z.custom<Record<string, unknown>>(isJsonObject, 'expected an object').optional(),
  sql: z.string().optional(),
});

/**
 * Answers `POST /admin/invalidate`: invalidates cache entries in all gateways, for tokens with the scope `invalidate`. The body names the
 * endpoint; with `parameters` (and `sql`) only the one entry of those values.
 * @throws GatewayError `unauthorized`, `forbidden`, `too_many_requests`, `invalid_body`, `endpoint_not_found`, `invalid_parameter`, `unavailable`
 */
export async function answerInvalidate(deps: PipelineDeps, context: RequestContext): Promise<HttpResponse> {
  const caller = await identifyCaller(deps.tokens, readCredentials(context.request.headers), 'invalidate');
  const order = orderSchema.safeParse(await readJsonBody(context, maxBodyBytes));
  if (!order.success) {
    throw new GatewayError(
      'invalid_body',
      `The body does not fit (${z.prettifyError(order.error).slice(0, 300)}); allowed: {"endpoint": …}, and with it "parameters" and "sql"`,
    );
  }
  const { endpoint, parameters, sql } = order.data;
  const scope = await invalidateEndpoint(
    deps,
    caller,
    endpoint,
    parameters && Object.assign(parameters, sql !== undefined && { sql }),
  );
  return privateJson({ invalidated: scope });
}
