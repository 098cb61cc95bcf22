/** What happens to the records of tokens, and to what was used of them. */
export type AuthEvent =
  | { readonly type: 'tokens.loaded'; readonly count: number }
  /** The file can't be read; the tokens of its last good version stay. */
  | { readonly type: 'tokens.broken'; readonly message: string }
  /** What was used can't be added up with other gateways'; said once until it can again. */
  | { readonly type: 'tokens.usage_failed'; readonly message: string }
  /** The keys of the issuer of JSON Web Tokens can't be read; those read before go on. */
  | { readonly type: 'tokens.keys_failed'; readonly message: string };
