import { useEffect, useState } from 'preact/hooks';
import { hasGraphiql } from './api/client.ts';
import { keepTheme, readTheme, themes } from './theme.ts';

type HeaderProps = { readonly hasToken: boolean; readonly onToken: () => void };

/** Labels for narrow screens. */
const signs = { auto: '◐', light: '☀', dark: '☾' } as const;

/** The header: links to other pages, the token, and the theme. */
export function Header({ hasToken, onToken }: HeaderProps) {
  const [theme, setTheme] = useState(readTheme);
  const [isServed, setServed] = useState(false);
  useEffect(() => void hasGraphiql().then(setServed), []);
  const change = () => {
    const next = themes[(themes.indexOf(theme) + 1) % themes.length]!;
    keepTheme(next);
    setTheme(next);
  };
  return (
    <header>
      <h1>Saved queries</h1>
      <nav aria-label="Other pages">
        {isServed && <a href="/graphql">GraphiQL</a>}
        <a href="/docs">API</a>
      </nav>
      <span class="spacer" />
      <button type="button" class="small" aria-label={`Theme: ${theme}`} onClick={change}>
        <span class="wide-only">Theme: {theme}</span>
        <span class="narrow-only">{signs[theme]}</span>
      </button>
      <button type="button" class="small" onClick={onToken}>
        {hasToken ? 'Token' : 'Give a token'}
      </button>
    </header>
  );
}
