import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { endWithProcess } from '../support/end-with-process.ts';
import type { AbusedGateway } from './abused-gateway.ts';
import type { OutcomeCounts } from './target.ts';

/** An attack that is ready. */
export type ReadyAttack = {
  begin(): Promise<void>;
  /** Kills the attacker in the middle of what it does. @returns how its requests had ended until then */
  stop(): Promise<OutcomeCounts>;
};

/**
 * Starts the process of an attack of the table by its name; resolves when it is ready. It yields the processors to the gateway and its engines: a real
 * attacker has a machine of its own.
 */
export async function launchAttack(
  name: string,
  { origin, tokens }: Pick<AbusedGateway, 'origin' | 'tokens'>,
): Promise<ReadyAttack> {
  const args = ['test/abuse/attack-process.ts', name, origin, JSON.stringify(tokens)];
  const child = spawn('nice', ['-n', '15', 'node', ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
  endWithProcess(child);
  const lines = createInterface(child.stdout);
  const nextCounts = async (): Promise<OutcomeCounts> => {
    const [line] = await Promise.race([once(lines, 'line'), once(child, 'exit')]);
    if (typeof line === 'string') return JSON.parse(line);
    throw new Error(`The attacker ended with ${line}`);
  };
  const ask = () => {
    child.stdin.write('\n');
    return nextCounts();
  };
  await nextCounts();
  return {
    async begin() {
      await ask();
    },
    async stop() {
      const counts = await ask();
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
      return counts;
    },
  };
}
