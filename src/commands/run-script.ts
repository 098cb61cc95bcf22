import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The parts of the scripts behind `npm start` and `npm run worker`: the variables before the command, and Node's arguments. */
export function readScript(name: 'start' | 'worker') {
  const { scripts } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  const words: string[] = scripts[name].split(' ');
  const at = words.indexOf('node');
  const environment: Record<string, string> = Object.fromEntries(
    words.slice(0, at).flatMap(word => (word.includes('=') ? [word.split('=') as [string, string]] : [])), // by the script's own form
  );
  return { environment, args: words.slice(at + 1) };
}

/** Runs a gateway or a worker as its npm script does, until it ends; its exit code is ours. */
export async function runScript(name: 'start' | 'worker', environment: NodeJS.ProcessEnv): Promise<void> {
  const { environment: own, args } = readScript(name);
  const file = fileURLToPath(new URL(`../../${args.at(-1)}`, import.meta.url));
  const child = spawn(process.execPath, [...args.slice(0, -1), file], {
    stdio: 'inherit',
    env: { ...environment, ...own },
  });
  // A terminal sends SIGINT to both processes; this one waits for the other.
  process.on('SIGINT', () => undefined);
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  child.once('error', reject).once('exit', code => resolve(code ?? 1));
  process.exitCode = await promise;
}
