import { LRUCache } from 'lru-cache';
import { callerHeadersKey } from '../http-messages/caller-headers-key.ts';
import type { ReadyContent, Reply, WholeRequest } from '../http-messages/exchange.ts';
import { answerAtOnce, bodyAtOnce, type PipelineDeps } from '../pipeline/run-endpoint.ts';
import { extensionsOf, type FieldAnswer, type OperationContext } from './operation-context.ts';

/** Results of earlier operations, for as long as nothing changed that they were made of. */
export type ResponseMemo = {
  /** The reply to a request that came before in the same words, where all its entries are at hand and unchanged. */
  get(request: WholeRequest, requestId: string): ReadyContent | undefined;
  /** Remembers a reply, if it was made of cache entries alone. */
  set(request: WholeRequest, reply: Reply, context: OperationContext): void;
};

type Remembered = {
  /** The bytes of the result up to its extensions, which differ from answer to answer; as latin1. */
  readonly start: string;
  readonly contentType: string;
  readonly fields: readonly FieldAnswer[];
};

const maxBytes = 16 * 1024 * 1024;

/** Longer results are made again: one of them would push out hundreds. */
const maxResultBytes = 1024 * 1024;

/** Beside its texts. */
const overheadBytes = 2048;

/**
 * Makes an empty memo. A request is the same if its body, its query string and all headers that are read are the same; so the
 * token is a part of the key. A repeated operation costs the check of its entries and the bytes, not the execution.
 */
export function createResponseMemo(pipeline: PipelineDeps): ResponseMemo {
  const results = new LRUCache<string, Remembered>({
    maxSize: maxBytes,
    // The bodies that it was made of live as long as it does.
    sizeCalculation: ({ start, fields }, key) =>
      fields.reduce(
        (bytes, { answer }) => bytes + answer.body.length,
        start.length + key.length + overheadBytes,
      ),
  });

  const isUnchanged = ({ answer }: FieldAnswer) => bodyAtOnce(pipeline, answer.plan) === answer.body;

  return {
    get(request, requestId) {
      const found = results.get(keyOf(request));
      if (!found) return undefined;
      // All are looked at before any is told of.
      const isOne = found.fields.length === 1;
      if (!isOne && !found.fields.every(isUnchanged)) return undefined;
      const fieldAnswers: FieldAnswer[] = [];
      for (const { path, answer } of found.fields) {
        const again = answerAtOnce(pipeline, answer.plan, requestId, body => body === answer.body);
        if (!again) return undefined;
        fieldAnswers.push({ path, answer: again });
      }
      return { contentType: found.contentType, text: found.start + endOf({ requestId, fieldAnswers }) };
    },
    set(request, { status, headers, body }, context) {
      const { fieldAnswers } = context;
      if (body.length > maxResultBytes) return;
      const isCached = fieldAnswers.length > 0 && fieldAnswers.every(({ answer }) => answer.bodyDigest);
      const text = body.toString('latin1');
      const end = endOf(context);
      if (status !== 200 || !isCached || !text.startsWith(dataStart) || !text.endsWith(end)) return;
      const start = text.slice(0, -end.length);
      results.set(keyOf(request), {
        start,
        contentType: String(headers['content-type']),
        fields: fieldAnswers,
      });
    },
  };
}

/** A result with errors begins otherwise, and is not kept. */
const dataStart = '{"data":{';

/** ASCII alone: names of fields, states and numbers. */
function endOf(context: Pick<OperationContext, 'requestId' | 'fieldAnswers'>): string {
  return `,"extensions":${JSON.stringify(extensionsOf(context))}}`;
}

function keyOf({ method, headers, queryText, body }: WholeRequest): string {
  return `${method}\n${callerHeadersKey(headers)}\n${headers['content-type']}\n${queryText}\n${body}`;
}
