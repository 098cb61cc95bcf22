import { readCallerHeaders } from '../http-messages/caller-headers.ts';
import { maxBodyBytes } from '../http-messages/http-limits.ts';
import { readJsonBody } from '../http-messages/read-json-body.ts';
import type { RequestContext } from '../http-messages/request-context.ts';
import type { HttpResponse } from '../http-messages/send-response.ts';
import { checkSql } from '../pipeline/check-sql.ts';
import type { PipelineDeps } from '../pipeline/run-endpoint.ts';

/**
 * Answers `POST /api/endpoints/<name or UUID>/check`: what is wrong with the `sql` of a JSON body, or else its columns.
 * @throws GatewayError as `checkSql` and `readJsonBody`
 */
export async function answerCheck(
  deps: PipelineDeps,
  context: RequestContext,
  endpoint: string,
): Promise<HttpResponse> {
  const checked = await checkSql(deps, {
    headers: readCallerHeaders(context.request.headers),
    endpoint,
    signal: context.signal,
    readSql: async () => (await readJsonBody(context, maxBodyBytes)).sql,
  });
  return {
    status: 200,
    headers: { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' },
    body: Buffer.from(
      JSON.stringify('code' in checked ? refused(checked) : { verdict: 'ok', columns: checked }),
    ),
  };
}

function refused({
  code,
  message,
  position,
}: Exclude<Awaited<ReturnType<typeof checkSql>>, readonly unknown[]>) {
  return { verdict: 'refused', error: { code, message, ...position } };
}
