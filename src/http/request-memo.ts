import type { IncomingMessage } from 'node:http';
import { LRUCache } from 'lru-cache';
import { callerHeadersKey } from '../http-messages/caller-headers-key.ts';
import type { Coding } from '../http-messages/content-coding.ts';
import { hasBody } from '../http-messages/read-body.ts';
import type { Plan } from '../pipeline/plan-request.ts';

/** A request that came before: what it meant, and how its last hit was answered. */
export type Remembered = {
  readonly plan: Plan;
  readonly hit: PreparedHit | undefined;
};

/** An answer that is ready to be sent again while its body is the same. */
export type PreparedHit = {
  /** The body that it was made of, as the pipeline gives it. */
  readonly body: Buffer;
  readonly coding: Coding | undefined;
  /**
   * The bytes to send as a string of their codes (latin1): Node writes it together with the head, in one system call,
   * where a buffer takes a second one.
   */
  readonly text: string;
  /** The age that `head` tells. */
  ageSeconds: number;
  /** Names and values of headers in turn; the last two are `server-timing` and `x-request-id`, filled in for each answer. */
  head: string[];
};

/** Requests that came before, so that the same request need not be read again. */
export type RequestMemo = {
  get(request: IncomingMessage): Remembered | undefined;
  set(request: IncomingMessage, remembered: Remembered): void;
};

/** Of the requests' texts, and of the answers that are ready. */
const maxBytes = 32 * 1024 * 1024;

/** What a plan keeps beside its texts. */
const overheadBytes = 1024;

/**
 * Makes an empty memo. Only whole requests without a body are equal: the same URL and the same headers that an answer depends
 * on. Whether a plan still holds, and whether its entry is good, is for the pipeline to say.
 */
export function createRequestMemo(): RequestMemo {
  const remembered = new LRUCache<string, Remembered>({
    maxSize: maxBytes,
    // The body that an answer was made of lives as long as it does.
    sizeCalculation: ({ hit }, key) =>
      overheadBytes + key.length + (hit ? hit.text.length + hit.body.length : 0),
  });
  return {
    get: request => (isPlain(request) ? remembered.get(keyOf(request)) : undefined),
    set(request, value) {
      if (isPlain(request)) remembered.set(keyOf(request), value);
    },
  };
}

function isPlain(request: IncomingMessage): boolean {
  return (request.method === 'GET' || request.method === 'HEAD') && !hasBody(request);
}

function keyOf({ url, headers }: IncomingMessage): string {
  return `${url}\n${callerHeadersKey(headers)}\n${headers['accept-encoding']}\n${headers.origin}`;
}
