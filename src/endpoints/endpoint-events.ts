/** What happens to the saved queries' files. */
export type EndpointEvent =
  | { readonly type: 'endpoint.loaded'; readonly endpoint: string; readonly file: string }
  | { readonly type: 'endpoint.removed'; readonly endpoint: string; readonly file: string }
  /** The file can't be served; its last good definition, if any, goes on being served. */
  | { readonly type: 'endpoint.broken'; readonly file: string; readonly message: string };
