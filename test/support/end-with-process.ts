import type { ChildProcess } from 'node:child_process';

const children = new Set<ChildProcess>();

process.once('exit', () => {
  for (const child of children) child.kill('SIGKILL');
});
// The runner ends a process of tests by a signal, which by itself is no `exit`.
for (const signal of ['SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(1));

/** Kills a process when this one ends: a hook that failed halfway never came to return what would have stopped it. */
export function endWithProcess(child: ChildProcess): void {
  children.add(child);
  child.once('exit', () => children.delete(child));
}
