import { ReplyError } from 'ioredis';

type Connection = {
  on(event: string, listener: (error?: unknown) => void): unknown;
};

/**
 * Remembers why a client has no connection: its failing calls only report that there is none.
 * @returns a function that describes why a call failed, with the known cause
 */
export function watchConnection(client: Connection): (error: unknown) => string {
  let reason: string | undefined = 'not connected yet';
  client.on('ready', () => {
    reason = undefined;
  });
  client.on('close', () => {
    reason ??= 'the connection was lost';
  });
  client.on('error', (error: unknown) => {
    // A Cluster's own error only says that no node could be used; its nodes have reported why.
    if (!(error instanceof Error && 'lastNodeError' in error)) reason = reasonOf(error);
  });
  client.on('node error', (error: unknown) => {
    // A closed connection is a consequence of the error before it.
    const message = reasonOf(error);
    reason = message === 'Connection is closed.' ? (reason ?? message) : message;
  });
  return error =>
    error instanceof ReplyError
      ? `Redis refuses: ${reasonOf(error)}`
      : `Redis does not answer: ${reason ?? reasonOf(error)}`;
}

/** A refused connection to a name with several addresses has no message of its own, but a code. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.message || ('code' in error ? String(error.code) : error.name);
}
