/** What happens to the tokens' file. */
export type AuthEvent =
  | { readonly type: 'tokens.loaded'; readonly count: number }
  /** The file can't be read; the tokens of its last good version stay. */
  | { readonly type: 'tokens.broken'; readonly message: string };
