import { render } from 'preact';
import { App } from './app.tsx';
import { applyTheme } from './header.tsx';

applyTheme();
render(<App />, document.getElementById('app')!);
