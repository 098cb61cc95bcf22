const key = 'saved-query-gateway.theme';

/** `auto` follows the system. */
export const themes = ['auto', 'light', 'dark'] as const;

export type Theme = (typeof themes)[number];

/** The theme that was chosen in this browser before. */
export function readTheme(): Theme {
  try {
    return themes.find(theme => theme === localStorage.getItem(key)) ?? 'auto';
  } catch {
    // With cookies blocked, access throws.
    return 'auto';
  }
}

/** Keeps a theme for all pages of this browser. */
export function keepTheme(theme: Theme): void {
  try {
    localStorage.setItem(key, theme);
  } catch {
    // It lasts until the page is left.
  }
  applyTheme(theme);
}

/** Shows the page in a theme; theme.css has the colours. */
export function applyTheme(theme: Theme = readTheme()): void {
  if (theme === 'auto') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}
