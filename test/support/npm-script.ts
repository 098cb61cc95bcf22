import packageJson from '../../package.json' with { type: 'json' };

/** What `npm start` and `npm run worker` run: the variables before the command, and what Node is given. */
export function readNpmScript(name: 'start' | 'worker') {
  const words = packageJson.scripts[name].split(' ');
  const at = words.indexOf('node');
  const environment: Record<string, string> = Object.fromEntries(
    words.slice(0, at).map(word => word.split('=')),
  );
  return { environment, args: words.slice(at + 1) };
}
