import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';

/** One HTTP request on its way to a door. */
export type Exchange = {
  readonly request: IncomingMessage;
  /** The caller's own `X-Request-Id` where it has a plain one, else a new one. */
  readonly requestId: string;
  /** The path as it came over the wire, without query string and without a trailing slash. */
  readonly path: string;
  /** The query string as it came over the wire, without the `?`. */
  readonly queryText: string;
  /** Aborted with a `cancelled` GatewayError when the caller goes away. */
  readonly signal: AbortSignal;
  /**
   * Reads the whole request body as UTF-8 text.
   * @throws GatewayError `body_too_large`, `invalid_body`, `cancelled`
   */
  readBody(maxBytes: number): Promise<string>;
};

/** A door's answer to an Exchange. */
export type Reply = {
  readonly status: number;
  readonly headers: OutgoingHttpHeaders;
  readonly body: Buffer;
};

/** A request whose body has been read, as far as one is told from another. */
export type WholeRequest = Pick<IncomingMessage, 'method' | 'headers'> & {
  /** The query string, without the `?`. */
  readonly queryText: string;
  /** The body's bytes as latin1; empty where there is none. */
  readonly body: string;
};

/** A content that is ready to be sent: its bytes as latin1. */
export type ReadyContent = { readonly contentType: string; readonly text: string };

/** A 200 that is ready to be written: what a door gives where nothing is left to be found out. */
export type ReadyReply = {
  /** Names and values of headers in turn; the last place is for the request's id. It is filled in anew for each answer. */
  readonly head: string[];
  /** The body's bytes as a string of their codes (latin1). */
  readonly text: string;
};
