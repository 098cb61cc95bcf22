/** Why the server ended a connection that its client did not end. */
export type EndReason =
  /** A head, or a body, did not arrive. */
  | 'slow_sender'
  /** An answer was not taken. */
  | 'slow_reader'
  /** Too many bytes wait for their readers. */
  | 'unread_limit'
  /** Too many connections are open. */
  | 'connection_limit';

/** What happens at the HTTP server. */
export type HttpEvent =
  | {
      readonly type: 'http.answered';
      readonly requestId: string;
      readonly method: string;
      readonly path: string;
      readonly status: number;
      readonly bytes: number;
      readonly ms: number;
    }
  /** A connection was ended for one of the limits. */
  | { readonly type: 'http.connection_ended'; readonly reason: EndReason }
  /** The server stops: it answers what has come, and takes no more. */
  | { readonly type: 'http.stopping'; readonly connections: number }
  /** A fault of ours was answered with 500. */
  | { readonly type: 'http.bug'; readonly requestId: string; readonly cause: unknown };
