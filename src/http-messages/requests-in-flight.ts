import { GatewayError } from '../base/errors.ts';

/** Counts the requests that are being answered, by sender. */
export type RequestsInFlight = {
  /**
   * Adds a request.
   * @param credentials as presented; requests without any are not counted because they are answered at once
   * @returns a function that removes it; call it once
   * @throws GatewayError `too_many_requests`
   */
  add(credentials: string | undefined): () => void;
};

/** The share of connections on which requests of one access token may wait, so that some are left for others. */
const callerShare = 0.75;

/** @param maxConnections maximum number of open connections */
export function createRequestsInFlight(maxConnections: number): RequestsInFlight {
  const max = Math.ceil(maxConnections * callerShare);
  const counts = new Map<string, number>();
  return {
    add(credentials) {
      if (credentials === undefined) return () => undefined;
      const count = counts.get(credentials) ?? 0;
      if (count >= max) {
        const message = `${count} requests of this access token are in flight already; allowed: ${max}`;
        throw new GatewayError('too_many_requests', message);
      }
      counts.set(credentials, count + 1);
      return () => {
        const left = counts.get(credentials)! - 1;
        if (left === 0) counts.delete(credentials);
        else counts.set(credentials, left);
      };
    },
  };
}
