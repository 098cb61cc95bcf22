/** What happens to the files of saved queries and sources. */
export type EndpointEvent =
  | { readonly type: 'endpoint.loaded'; readonly endpoint: string; readonly file: string }
  | { readonly type: 'endpoint.removed'; readonly endpoint: string; readonly file: string }
  /** The file can't be served; its last good definition, if any, goes on being served. */
  | { readonly type: 'endpoint.broken'; readonly file: string; readonly message: string }
  /** A source that came while the gateway runs is there. */
  | { readonly type: 'source.loaded'; readonly source: string }
  /** The file gives no source: at a start it is left out; later the source is as it was until the next start. */
  | { readonly type: 'source.broken'; readonly file: string; readonly message: string };
