/** Kept for the tab alone: another tab asks again, and closing the tab forgets it. */
const key = 'saved-query-gateway.token';

/** The token of this tab; undefined if none was given yet. */
export function readToken(): string | undefined {
  return sessionStorage.getItem(key) ?? undefined;
}

/** Keeps the token of this tab, or forgets it. */
export function keepToken(token: string | undefined): void {
  if (token) sessionStorage.setItem(key, token);
  else sessionStorage.removeItem(key);
}
