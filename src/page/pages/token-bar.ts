import { readSample } from '../api/client.ts';
import { keepToken, readToken } from '../api/token.ts';
import { applyTheme } from '../theme.ts';

/**
 * Finds the token of this tab, or that of the gateway's own machine; another can be given in the bar at the top. Applies the theme of the
 * other pages.
 */
export async function openTokenBar(): Promise<void> {
  applyTheme();
  const form = document.querySelector<HTMLFormElement>('#token-bar')!;
  const field = form.querySelector('input')!;
  form.addEventListener('submit', event => {
    event.preventDefault();
    keepToken(field.value.trim() || undefined);
    location.reload();
  });
  const { token } = readToken() === undefined ? await readSample() : {};
  if (token) keepToken(token);
  field.placeholder = readToken() === undefined ? 'needed for everything below' : 'given, for this tab';
  form.dataset.given = String(readToken() !== undefined);
}
