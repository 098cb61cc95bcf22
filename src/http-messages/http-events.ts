import type { RequestFacts } from './request-context.ts';

/** Why the server ended a connection. */
export type EndReason =
  /** The headers or the body did not arrive in time. */
  | 'slow_sender'
  /** A response was not read. */
  | 'slow_reader'
  /** Too many bytes of responses were unread. */
  | 'unread_limit'
  /** The rest of a response could not be written. */
  | 'unwritten'
  /** Too many connections were open. */
  | 'connection_limit';

/** What happens at the HTTP server. */
export type HttpEvent =
  | ({
      readonly type: 'http.answered';
      readonly requestId: string;
      readonly method: string;
      readonly path: string;
      readonly status: number;
      readonly bytes: number;
      readonly ms: number;
    } & Readonly<RequestFacts>)
  /** A request, or a field of a GraphQL operation, was answered with an error. */
  | { readonly type: 'http.refused'; readonly code: string }
  /** A connection was ended: for one of the limits, or in the middle of a response. */
  | { readonly type: 'http.connection_ended'; readonly reason: EndReason }
  /** The server stops: it answers the requests that have arrived, and accepts no more. */
  | { readonly type: 'http.stopping'; readonly connections: number }
  /** A bug was answered with 500. */
  | { readonly type: 'http.bug'; readonly requestId: string; readonly cause: unknown };
