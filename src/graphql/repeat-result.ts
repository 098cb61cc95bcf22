import { maxRepeatedBytes } from '../http-messages/http-limits.ts';
import { type HttpResponse, maxJoinedBytes, type Repeat } from '../http-messages/send-response.ts';
import { bytesOfPlan } from '../pipeline/plan-request.ts';
import {
  areRepeatable,
  confirmAnswers,
  factsOfRepeat,
  type PipelineDeps,
  repeatAnswers,
} from '../pipeline/run-endpoint.ts';
import { extensionsOf, type OperationContext } from './operation-context.ts';

/** Request headers on which the response depends. */
export const vary = 'Accept, Accept-Encoding';

/** Only results that begin like this are repeated; with errors they begin otherwise. */
const dataStart = Buffer.from('{"data":{');

/** Lets a result made of cache entries alone be sent again without executing its operation: only the extensions are new. */
export function repeatOf(
  pipeline: PipelineDeps,
  { status, headers, body }: HttpResponse,
  operation: OperationContext,
): Repeat | undefined {
  const paths = operation.fieldAnswers.map(({ path }) => path);
  const answers = operation.fieldAnswers.map(({ answer }) => answer);
  if (status !== 200 || body.length > maxRepeatedBytes) return undefined;
  if (answers.length === 0 || !areRepeatable(pipeline, answers)) return undefined;
  const oldEnd = endOf(operation);
  const startLength = body.length - oldEnd.length;
  if (!body.subarray(0, dataStart.length).equals(dataStart)) return undefined;
  if (body.toString('latin1', startLength) !== oldEnd) return undefined;
  const isJoined = startLength <= maxJoinedBytes;
  // A short body is a slice of a far larger buffer.
  const start = isJoined ? undefined : body.subarray(0, startLength);
  const beforeId = (isJoined ? body.toString('latin1', 0, startLength) : '') + endStart;
  let ages: string | undefined;
  let afterId = '';
  const sent = {
    'content-type': headers['content-type'],
    'cache-control': 'no-store',
    vary,
  };
  return {
    bytes: answers.reduce(
      (bytes, { body: rows, plan }) => bytes + rows.length + bytesOfPlan(plan),
      2 * startLength,
    ),
    facts: factsOfRepeat(answers),
    confirm: () => confirmAnswers(pipeline, answers),
    again(requestId, confirmedSinceMs) {
      const next = repeatAnswers(pipeline, answers, requestId, confirmedSinceMs);
      if (!next) return undefined;
      const nextAges = next.map(({ cache }) => cache.ageSeconds).join();
      if (nextAges !== ages) {
        ages = nextAges;
        const fieldAnswers = next.map((answer, at) => ({ path: paths[at]!, answer }));
        afterId = endOf({ requestId: '', fieldAnswers }).slice(endStart.length);
      }
      return { headers: sent, start, text: beforeId + requestId + afterId };
    },
  };
}

/** The end of a result, up to the request's id. */
const endStart = ',"extensions":{"request_id":"';

/** The end of a result. It is ASCII: names of fields, states and numbers. */
function endOf(operation: Pick<OperationContext, 'requestId' | 'fieldAnswers'>): string {
  return `,"extensions":${JSON.stringify(extensionsOf(operation))}}`;
}
