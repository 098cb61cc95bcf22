import { useState } from 'preact/hooks';

type HeaderProps = { readonly hasToken: boolean; readonly onToken: () => void };

const key = 'saved-query-gateway.theme';
const themes = ['auto', 'light', 'dark'] as const;

type Theme = (typeof themes)[number];

/** The theme that was chosen here before. */
export function applyTheme(theme: Theme = readTheme()): void {
  if (theme === 'auto') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

function readTheme(): Theme {
  return themes.find(theme => theme === localStorage.getItem(key)) ?? 'auto';
}

/** Where else to go, the token, and the theme. */
export function Header({ hasToken, onToken }: HeaderProps) {
  const [theme, setTheme] = useState(readTheme);
  const change = () => {
    const next = themes[(themes.indexOf(theme) + 1) % themes.length]!;
    localStorage.setItem(key, next);
    applyTheme(next);
    setTheme(next);
  };
  return (
    <header>
      <h1>Saved queries</h1>
      <nav aria-label="Other pages">
        <a href="/graphql">GraphiQL</a>
        <a href="/docs">API</a>
      </nav>
      <span class="spacer" />
      <button type="button" class="small" onClick={change}>
        Theme: {theme}
      </button>
      <button type="button" class="small" onClick={onToken}>
        {hasToken ? 'Token: given' : 'Give a token'}
      </button>
    </header>
  );
}
