import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout } from 'node:timers/promises';
import type { StallInput } from './stall-input.ts';
import { answerStalls } from './stalls-answer.ts';
import { compileStalls } from './stalls-compile.ts';
import { redactStalls } from './stalls-redact.ts';

/** Every kind of input that once held the event loop; a room adds its own here. Some open a server, which only this bench needs. */
async function openInputs(): Promise<readonly StallInput[]> {
  return [...compileStalls(), ...redactStalls(), ...(await answerStalls())];
}

/** Contract 11.2: nothing a caller sends holds the event loop longer, in milliseconds. */
const limitMs = 100;

/** Runs of each input: the first one also pays for code that is not compiled yet, as in a gateway that has just started. */
const runs = 5;

/**
 * How long each input holds the event loop: the longest and the median of its runs, in a process that has done nothing else.
 * `STALLS=compile` takes the inputs only whose names contain the word.
 */
export async function benchStalls(): Promise<void> {
  const only = process.env.STALLS ?? '';
  const inputs = await openInputs();
  console.log(`\nLongest stall of the event loop, limit ${limitMs} ms\n`);
  console.log('| input | longest (ms) | median (ms) | outcome | over the limit |\n|---|---|---|---|---|');
  for (const input of inputs.filter(({ name }) => name.includes(only))) {
    const stalls: number[] = [];
    let outcome = '';
    for (let n = 0; n < runs; n++)
      stalls.push(await longestStall(async () => (outcome = await ended(input))));
    const [longest, middle] = [Math.max(...stalls), stalls.toSorted((a, b) => a - b)[runs >> 1] ?? 0];
    const verdict = longest > limitMs ? 'yes' : '';
    console.log(`| ${input.name} | ${longest.toFixed(0)} | ${middle.toFixed(0)} | ${outcome} | ${verdict} |`);
  }
}

async function ended({ run }: StallInput): Promise<string> {
  try {
    await run();
    return 'done';
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return `refused: ${message.replaceAll('|', '\\|').slice(0, 60)}`;
  }
}

/** The longest time that the event loop did not turn while something ran, in milliseconds. */
async function longestStall(work: () => Promise<unknown>): Promise<number> {
  const histogram = monitorEventLoopDelay({ resolution: 1 });
  histogram.enable();
  // The monitor counts from its first turn on: without one, a stall right away is not seen.
  await setTimeout(10);
  await work();
  // The monitor's timer must fire once more to see the stall.
  await setTimeout(5);
  histogram.disable();
  return histogram.max / 1e6;
}
