import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { GatewayError } from '../base/errors.ts';
import { acceptsJson } from '../http-messages/accepts-json.ts';
import { type Coding, chooseCoding, codeBody, codedNow } from '../http-messages/content-coding.ts';
import type { Exchange, ReadyReply, Reply } from '../http-messages/exchange.ts';
import { flatHead } from '../http-messages/flat-head.ts';
import { readCredentials } from '../http-messages/read-credentials.ts';
import { isPlanCurrent, type Plan } from '../pipeline/plan-request.ts';
import {
  type Answer,
  answerAtOnce,
  type PipelineDeps,
  runEndpoint,
  runPlan,
} from '../pipeline/run-endpoint.ts';
import { withinDeadline } from '../pipeline/within-deadline.ts';
import { cacheHeaders, isNotModified } from './cache-headers.ts';
import { readInput } from './read-input.ts';
import { receiptHeader } from './receipt-header.ts';
import { createRequestMemo, type PreparedHit } from './request-memo.ts';

/** The REST door (contract 2.1): one endpoint's rows for a GET, HEAD or POST. */
export type RestDoor = {
  /**
   * Reads the request and answers it.
   * @param endpoint name or UUID
   * @throws GatewayError
   */
  answer(exchange: Exchange, endpoint: string): Promise<Reply>;
  /** Answers a request that came before in the same words, where a fresh entry is at hand; else undefined. */
  answerAtOnce(request: IncomingMessage, requestId: string): ReadyReply | undefined;
};

/** Longer bodies are sent as buffers: there a second copy costs more than a second system call. */
const maxReadyBytes = 64 * 1024;

/**
 * Makes the door.
 * @param addHeaders completes the head of an answer with what all routes have
 */
export function createRestDoor(
  deps: PipelineDeps,
  addHeaders: (request: IncomingMessage, headers: OutgoingHttpHeaders) => void,
): RestDoor {
  const memo = createRequestMemo();

  async function ask(exchange: Exchange, endpoint: string, signal: AbortSignal): Promise<Answer> {
    const { request, requestId } = exchange;
    const known = memo.get(request)?.plan;
    if (known && isPlanCurrent(deps, known)) return runPlan(deps, known, { requestId, signal });
    const { headers } = request;
    if (!acceptsJson(headers.accept)) {
      throw new GatewayError(
        'not_acceptable',
        `Accept is ${JSON.stringify(headers.accept?.slice(0, 120))}; offered: application/json`,
      );
    }
    const answer = await runEndpoint(deps, {
      requestId,
      credentials: readCredentials(headers),
      endpoint,
      readInput: definition => readInput(exchange, definition),
      signal,
    });
    memo.set(request, { plan: answer.plan, hit: undefined });
    return answer;
  }

  /** Has the answer ready to be sent more than once, if it is short. */
  function prepare(request: IncomingMessage, plan: Plan, body: Buffer): PreparedHit | undefined {
    const coding = chooseCoding(request.headers['accept-encoding'], body.length);
    const sent = coding ? codedNow(body, coding) : body;
    if (!sent || sent.length > maxReadyBytes) return undefined;
    const hit = { body, coding, text: sent.toString('latin1'), ageSeconds: -1, head: [] };
    memo.set(request, { plan, hit });
    return hit;
  }

  function headOf(request: IncomingMessage, answer: Answer, { coding, text }: PreparedHit): string[] {
    const headers = rowsHeaders(answer, coding);
    headers['content-length'] = text.length;
    addHeaders(request, headers);
    return [...flatHead(headers), 'server-timing', '', 'x-request-id', ''];
  }

  return {
    async answer(exchange, endpoint) {
      const { request } = exchange;
      const answer = await withinDeadline(exchange.signal, deps.queryTimeoutMs, signal =>
        ask(exchange, endpoint, signal),
      );
      const coding = chooseCoding(request.headers['accept-encoding'], answer.body.length);
      const headers = rowsHeaders(answer, coding);
      headers['server-timing'] = serverTiming(answer);
      // RFC 9110, section 13.2.2: a tag that matches is a condition of GET and HEAD alone.
      if (request.method !== 'POST' && isNotModified(request.headers['if-none-match'], headers.etag)) {
        return { status: 304, headers: withoutContent(headers), body: noBody };
      }
      return { status: 200, headers, body: coding ? await codeBody(answer.body, coding) : answer.body };
    },
    answerAtOnce(request, requestId) {
      if (request.headers['if-none-match'] !== undefined) return undefined;
      const known = memo.get(request);
      if (!known) return undefined;
      const { plan } = known;
      let { hit } = known;
      const answer = answerAtOnce(deps, plan, requestId, body => {
        if (hit?.body !== body) hit = prepare(request, plan, body);
        return hit !== undefined;
      });
      if (!answer || !hit) return undefined;
      if (hit.ageSeconds !== answer.cache.ageSeconds) {
        hit.head = headOf(request, answer, hit);
        hit.ageSeconds = answer.cache.ageSeconds;
      }
      hit.head[hit.head.length - 3] = serverTiming(answer);
      return hit;
    },
  };
}

/** All that the head of an answer with rows says of them. */
function rowsHeaders(answer: Answer, coding: Coding | undefined): OutgoingHttpHeaders {
  const headers = cacheHeaders(answer, coding);
  if (answer.receipt) headers['query-receipt'] = receiptHeader(answer.receipt);
  if (answer.isTruncated) {
    headers['result-truncated'] = '?1'; // a Boolean of RFC 9651
    headers['result-max-rows'] = answer.endpoint.maxRows;
  }
  headers['content-type'] = 'application/json; charset=utf-8';
  if (coding) headers['content-encoding'] = coding;
  return headers;
}

/** A 304 says nothing of a content that it does not have. */
function withoutContent(headers: OutgoingHttpHeaders): OutgoingHttpHeaders {
  const { 'content-type': _type, 'content-encoding': _coding, ...others } = headers;
  return others;
}

function serverTiming({ stages }: Answer): string {
  let text = '';
  for (const { name, ms } of stages) text += `${text && ', '}${name};dur=${ms.toFixed(2)}`;
  return text;
}

const noBody = Buffer.alloc(0);
