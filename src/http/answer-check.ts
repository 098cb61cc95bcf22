import { readCallerHeaders } from '../http-messages/caller-headers.ts';
import { maxBodyBytes } from '../http-messages/http-limits.ts';
import { readJsonBody } from '../http-messages/read-json-body.ts';
import type { RequestContext } from '../http-messages/request-context.ts';
import type { HttpResponse } from '../http-messages/send-response.ts';
import { checkSql } from '../pipeline/check-sql.ts';
import type { RefusedStatement } from '../pipeline/refused-statement.ts';
import type { PipelineDeps } from '../pipeline/run-endpoint.ts';
import { privateJson } from './json-response.ts';

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
  return privateJson('code' in checked ? renderRefusal(checked) : { verdict: 'ok', columns: checked });
}

/** A refused statement as a check and an explanation show it: `docs/rest.md` and OpenAPI describe this object. */
export function renderRefusal({ code, message, position }: RefusedStatement): object {
  return { verdict: 'refused', error: { code, message, ...position } };
}
