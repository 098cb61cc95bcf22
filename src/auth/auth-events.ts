/** What happens to the records of tokens and to their counted use. */
export type AuthEvent =
  | { readonly type: 'tokens.loaded'; readonly count: number }
  /** The file can't be read; the tokens of its last valid version stay accepted. */
  | { readonly type: 'tokens.broken'; readonly message: string }
  /** The use of tokens can't be added to that of other gateways; emitted once until it can again. */
  | { readonly type: 'tokens.usage_failed'; readonly message: string }
  /** The public keys of the issuer of JSON Web Tokens can't be read; those read before stay in use. */
  | { readonly type: 'tokens.keys_failed'; readonly message: string };
