import { Agent, request } from 'node:http';
import type { GatewayProcess } from './gateway-process.ts';

/** A request that a bench sends, once or again and again. */
export type ServerRequest = {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Makes it a POST. */
  readonly payload?: string;
};

/** An answer as it came over the wire. */
export type WireAnswer = {
  /** Names and values in turn. */
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
};

/** Reads a saved query over REST. */
export function restRequest(
  { token }: Pick<GatewayProcess, 'token'>,
  endpoint: string,
  parameters: Readonly<Record<string, string>>,
): ServerRequest {
  return {
    path: `/api/endpoints/query/${endpoint}?${new URLSearchParams(parameters)}`,
    headers: { 'x-api-key': token },
  };
}

/** Asks an operation over GraphQL. */
export function graphqlRequest({ token }: Pick<GatewayProcess, 'token'>, operation: object): ServerRequest {
  return {
    path: '/graphql',
    headers: { 'x-api-key': token, 'content-type': 'application/json' },
    payload: JSON.stringify(operation),
  };
}

/**
 * Sends one request over a kept connection of `node:http`: fetch would add a millisecond of its own.
 * @throws Error with the answer's text where it is not a 200
 */
export function askServer(
  { origin }: { readonly origin: string },
  { path, headers, payload }: ServerRequest,
): Promise<WireAnswer> {
  return new Promise((resolve, reject) => {
    const sent = request(origin + path, { agent, headers, method: payload === undefined ? 'GET' : 'POST' });
    sent.on('error', reject);
    sent.on('response', async response => {
      const body = Buffer.concat(await response.toArray());
      if (response.statusCode === 200) resolve({ rawHeaders: response.rawHeaders, body });
      else reject(new Error(body.toString()));
    });
    sent.end(payload);
  });
}

const agent = new Agent({ keepAlive: true });
