import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import type { GatewayProcess } from './gateway-process.ts';

/** An answer as it came over the wire. */
export type WireAnswer = {
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
};

/** The path of a saved query with its parameters. */
export function endpointPath(endpoint: string, parameters: Readonly<Record<string, string>>): string {
  return `/api/endpoints/query/${endpoint}?${new URLSearchParams(parameters)}`;
}

/**
 * Asks a gateway over one kept connection of `node:http`: fetch would add a millisecond of its own.
 * @throws Error with the answer's text where it is not a 200
 */
export function askGateway({ origin, token }: GatewayProcess, path: string): Promise<WireAnswer> {
  return new Promise((resolve, reject) => {
    const sent = request(origin + path, { agent, headers: { 'x-api-key': token } });
    sent.on('error', reject);
    sent.on('response', async response => {
      const body = Buffer.concat(await response.toArray());
      if (response.statusCode === 200) resolve({ headers: response.headers, body });
      else reject(new Error(body.toString()));
    });
    sent.end();
  });
}

const agent = new Agent({ keepAlive: true });
