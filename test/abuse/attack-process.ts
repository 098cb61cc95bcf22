import { sampleProjects } from '../../src/sample/vocabulary.ts';
import { attacks, attackToken } from './attacks.ts';
import { createTarget, type OutcomeCounts } from './target.ts';

/**
 * The attacker, in a process of its own: `attack-process.ts <name> <origin> <tokens by scope, as JSON>`. It prints its counts as a line of JSON when it
 * is ready and whenever a line comes in; with the first of these it begins, and goes on until it is killed.
 */

const [name, origin = '', tokens = '{}'] = process.argv.slice(2);
const attack = attacks.find(each => each.name === name);
if (!attack) throw new Error(`No attack has the name ${name}`);

const counts: OutcomeCounts = {};
const token = attack.scope ? JSON.parse(tokens)[attack.scope] : attackToken;
const target = createTarget({ origin, token, project: sampleProjects[0] }, counts);
let sent = 0;

async function sender({ send }: NonNullable<typeof attack>): Promise<never> {
  for (;;) {
    await send(target, sent++);
    // What fails at once would otherwise never let the timers of others run.
    await new Promise(setImmediate);
  }
}

const say = () => process.stdout.write(`${JSON.stringify(counts)}\n`);
attack.prepare?.();
say();
process.stdin.once('data', () => {
  for (let n = 0; n < (attack.senders ?? 8); n++) void sender(attack);
});
process.stdin.on('data', say);
