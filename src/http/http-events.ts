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
  /** A fault of ours was answered with 500. */
  | { readonly type: 'http.bug'; readonly requestId: string; readonly cause: unknown };
