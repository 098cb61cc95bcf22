import { LRUCache } from 'lru-cache';
import type { Exchange, Reply } from '../exchange.ts';
import { answerAtOnce, bodyAtOnce, type PipelineDeps } from '../pipeline/run-endpoint.ts';
import { extensionsOf, type FieldAnswer, type OperationContext } from './operation-context.ts';

/** Results of earlier operations, for as long as nothing changed that they were made of. */
export type ResponseMemo = {
  /** The reply to a request that came before in the same words, where all its entries are at hand and unchanged. */
  get(exchange: Exchange, requestBody: string): Reply | undefined;
  /** Remembers a reply, if it was made of cache entries alone. */
  set(exchange: Exchange, requestBody: string, reply: Reply, context: OperationContext): void;
};

type Remembered = {
  /** The JSON text of the result up to its extensions, which differ from answer to answer. */
  readonly start: Buffer;
  readonly contentType: string;
  readonly fields: readonly FieldAnswer[];
};

const maxBytes = 16 * 1024 * 1024;

/** Beside its texts. */
const overheadBytes = 2048;

/**
 * Makes an empty memo. A request is the same if its body, its query string and all headers that are read are the same; so the
 * token is a part of the key. A repeated operation costs the check of its entries and the bytes, not the execution.
 */
export function createResponseMemo(pipeline: PipelineDeps): ResponseMemo {
  const results = new LRUCache<string, Remembered>({
    maxSize: maxBytes,
    sizeCalculation: ({ start }, key) => start.length + 2 * key.length + overheadBytes,
  });

  return {
    get(exchange, requestBody) {
      const found = results.get(keyOf(exchange, requestBody));
      if (!found?.fields.every(({ answer }) => bodyAtOnce(pipeline, answer.plan) === answer.body))
        return undefined;
      const { requestId } = exchange;
      const fieldAnswers: FieldAnswer[] = [];
      for (const { path, answer } of found.fields) {
        const again = answerAtOnce(pipeline, answer.plan, requestId);
        if (!again) return undefined;
        fieldAnswers.push({ path, answer: again });
      }
      const end = endOf({ requestId, fieldAnswers });
      return {
        status: 200,
        headers: { 'cache-control': 'no-store', 'content-type': found.contentType },
        body: Buffer.concat([found.start, Buffer.from(end)]),
      };
    },
    set(exchange, requestBody, reply, context) {
      const { fieldAnswers } = context;
      const isCached = fieldAnswers.length > 0 && fieldAnswers.every(({ answer }) => answer.bodyDigest);
      const end = Buffer.from(endOf(context));
      const startLength = reply.body.length - end.length;
      if (reply.status !== 200 || !isCached || !reply.body.subarray(startLength).equals(end)) return;
      const start = Buffer.from(reply.body.subarray(0, startLength));
      if (!start.subarray(0, dataStart.length).equals(dataStart)) return;
      const contentType = String(reply.headers['content-type']);
      results.set(keyOf(exchange, requestBody), { start, contentType, fields: fieldAnswers });
    },
  };
}

/** A result with errors begins otherwise, and is not kept. */
const dataStart = Buffer.from('{"data":{');

function endOf(context: Pick<OperationContext, 'requestId' | 'fieldAnswers'>): string {
  return `,"extensions":${JSON.stringify(extensionsOf(context))}}`;
}

/** What no header can hold. */
const absent = '\n';

function keyOf({ request: { method, headers }, queryText }: Exchange, requestBody: string): string {
  const { authorization, accept, 'cache-control': cacheControl, 'content-type': contentType } = headers;
  const read = [
    authorization,
    headers['x-api-key'],
    headers['lf-endpoint-redact-pii'],
    accept,
    cacheControl,
    contentType,
  ];
  return `${method}\n${read.map(value => value ?? absent).join('\n')}\n${queryText}\n${requestBody}`;
}
