/** Kept for the tab alone: another tab asks again, and closing the tab forgets it. */
const key = 'saved-query-gateway.token';

/** Used until the page is left if the browser stores nothing: with cookies blocked, access throws. */
let unkept: string | undefined;

/** The token of this tab; undefined if none was given yet. */
export function readToken(): string | undefined {
  try {
    return sessionStorage.getItem(key) ?? undefined;
  } catch {
    return unkept;
  }
}

/** Keeps the token of this tab, or forgets it. */
export function keepToken(token: string | undefined): void {
  unkept = token;
  try {
    if (token) sessionStorage.setItem(key, token);
    else sessionStorage.removeItem(key);
  } catch {
    // It is kept above.
  }
}
