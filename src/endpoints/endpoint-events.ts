/** What happens to the files of saved queries and sources. */
export type EndpointEvent =
  | { readonly type: 'endpoint.loaded'; readonly endpoint: string; readonly file: string }
  | { readonly type: 'endpoint.removed'; readonly endpoint: string; readonly file: string }
  /** The file can't be served; its last valid definition, if any, is still served. */
  | { readonly type: 'endpoint.broken'; readonly file: string; readonly message: string }
  /** A source that was added while the gateway runs is available. */
  | { readonly type: 'source.loaded'; readonly source: string }
  /** The file is wrong: at start its source is left out; later the source stays as it was until the next start. */
  | { readonly type: 'source.broken'; readonly file: string; readonly message: string };
