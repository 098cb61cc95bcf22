import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { readCredentials } from '../auth/read-credentials.ts';
import { type Coding, chooseCoding, codeBody, codedNow } from '../content-coding.ts';
import type { EndpointDefinition } from '../endpoints/definition.ts';
import { GatewayError } from '../errors.ts';
import type { Exchange, Reply } from '../exchange.ts';
import type { RawParameters } from '../pipeline/bind-parameters.ts';
import { isPlanCurrent } from '../pipeline/plan-request.ts';
import { readRedactHeader } from '../pipeline/read-redact-header.ts';
import { readsNoCache } from '../pipeline/reads-no-cache.ts';
import {
  type Answer,
  answerAtOnce,
  type PipelineDeps,
  runEndpoint,
  runPlan,
} from '../pipeline/run-endpoint.ts';
import { acceptsJson } from './accepts-json.ts';
import { cacheHeaders, isNotModified } from './cache-headers.ts';
import { maxBodyBytes } from './http-limits.ts';
import { createPlanMemo } from './plan-memo.ts';
import { hasBody } from './read-body.ts';
import { readJsonBody } from './read-json-body.ts';
import { readQueryString } from './read-query-string.ts';

/** The REST door (contract section 2): one endpoint's rows for a GET, HEAD or POST. */
export type RestDoor = {
  /**
   * Reads the request and answers it.
   * @param endpoint name or UUID
   * @throws GatewayError
   */
  answer(exchange: Exchange, endpoint: string): Promise<Reply>;
  /** Answers a request that came before in the same words, where a fresh entry is at hand; else undefined. */
  answerAtOnce(request: IncomingMessage, requestId: string): Reply | undefined;
};

/** Makes the door. */
export function createRestDoor(deps: PipelineDeps): RestDoor {
  const plans = createPlanMemo();

  async function ask(exchange: Exchange, endpoint: string): Promise<Answer> {
    const { request, requestId, signal } = exchange;
    const known = plans.get(request);
    if (known && isPlanCurrent(deps, known)) return runPlan(deps, known, { requestId, signal });
    const { headers } = request;
    if (!acceptsJson(headers.accept)) {
      throw new GatewayError(
        'not_acceptable',
        `Accept is ${JSON.stringify(headers.accept)}; offered: application/json`,
      );
    }
    const answer = await runEndpoint(deps, {
      requestId,
      credentials: readCredentials(headers),
      endpoint,
      readInput: async definition => ({
        redactPii: readRedactHeader(headers),
        noCache: readsNoCache(headers),
        parameters: await readParameters(exchange, definition),
      }),
      signal,
    });
    plans.set(request, answer.plan);
    return answer;
  }

  return {
    async answer(exchange, endpoint) {
      const answer = await ask(exchange, endpoint);
      const coding = chooseCoding(exchange.request.headers['accept-encoding'], answer.body);
      const body = coding ? await codeBody(answer.body, coding) : answer.body;
      return toReply(exchange.request, answer, coding, body);
    },
    answerAtOnce(request, requestId) {
      const plan = plans.get(request);
      if (!plan) return undefined;
      const accept = request.headers['accept-encoding'];
      let coding: Coding | undefined;
      let coded: Buffer | undefined;
      const answer = answerAtOnce(deps, plan, requestId, body => {
        coding = chooseCoding(accept, body);
        coded = coding ? codedNow(body, coding) : body;
        return coded !== undefined;
      });
      return answer && coded && toReply(request, answer, coding, coded);
    },
  };
}

/** Parameters come from the query string; a POST, and some GETs, may carry them in a body, which wins. */
async function readParameters(exchange: Exchange, { sandbox }: EndpointDefinition): Promise<RawParameters> {
  const query = readQueryString(exchange.queryText);
  if (!hasBody(exchange.request)) return query;
  const getMayHaveBody = sandbox && query.sql === undefined && query.lql === undefined;
  if (exchange.request.method !== 'POST' && !getMayHaveBody) return query;
  const body = await readJsonBody(exchange, maxBodyBytes);
  return Object.assign(query, body);
}

function toReply(request: IncomingMessage, answer: Answer, coding: Coding | undefined, body: Buffer): Reply {
  const headers: OutgoingHttpHeaders = cacheHeaders(answer, coding);
  headers['server-timing'] = answer.stages.map(({ name, ms }) => `${name};dur=${ms.toFixed(2)}`).join(', ');
  // RFC 9110, section 13.2.2: a tag that matches is a condition of GET and HEAD alone.
  if (request.method !== 'POST' && isNotModified(request.headers['if-none-match'], headers.etag)) {
    return { status: 304, headers, body: noBody };
  }
  headers['content-type'] = 'application/json; charset=utf-8';
  if (coding) headers['content-encoding'] = coding;
  return { status: 200, headers, body };
}

const noBody = Buffer.alloc(0);
