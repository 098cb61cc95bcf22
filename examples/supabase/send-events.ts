/**
 * Sends events as the Vector of a self-hosted Supabase does:
 * `node examples/supabase/send-events.ts --url http://127.0.0.1:4000 --per-second 20`.
 *
 * - `--per-second`: events a second on average; default 10.
 * - `--minutes`: of the project's time; default 1.
 * - `--from`: time of the first event; default that many minutes ago.
 * - `--speed`: seconds of the project's time in a second; default 0, as fast as answers come.
 * - `--seed`: default 1.
 * - `--print`: writes the requests as NDJSON instead of sending them.
 *
 * The token is `LOGFLARE_PUBLIC_ACCESS_TOKEN`. A request that fails is repeated for 30 s; Vector's sinks repeat without end, 30 s apart at most.
 */
import { setTimeout } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type VectorBatch, vectorBatches } from './vector-events.ts';

const { values } = parseArgs({
  options: {
    url: { type: 'string', default: 'http://127.0.0.1:4000' },
    'per-second': { type: 'string', default: '10' },
    minutes: { type: 'string', default: '1' },
    from: { type: 'string' },
    speed: { type: 'string', default: '0' },
    seed: { type: 'string', default: '1' },
    print: { type: 'boolean', default: false },
  },
});

const lengthMs = Number(values.minutes) * 60_000;
const startMs = values.from === undefined ? Date.now() - lengthMs : Date.parse(values.from);
const speed = Number(values.speed);
const perSecond = Number(values['per-second']);
const seed = Number(values.seed);
if ([lengthMs, startMs, speed, perSecond, seed].some(number => Number.isNaN(number))) {
  throw new Error('--minutes, --per-second, --speed and --seed are numbers, --from is a time');
}

let events = 0;
const beganMs = Date.now();
for (const batch of vectorBatches({ seed, startMs, endMs: startMs + lengthMs, perSecond })) {
  if (values.print) {
    process.stdout.write(`${JSON.stringify(batch)}\n`);
    continue;
  }
  const dueMs = speed === 0 ? 0 : beganMs + (batch.atMs - startMs) / speed;
  if (dueMs > Date.now()) await setTimeout(dueMs - Date.now());
  await send(batch);
  events += batch.events.length;
}
if (!values.print) {
  const seconds = (Date.now() - beganMs) / 1000;
  process.stdout.write(`${events} events sent in ${seconds.toFixed(1)} s\n`);
}

async function send({ source, events: body }: VectorBatch): Promise<void> {
  const url = `${values.url}/api/logs?source_name=${source}`;
  const headers = {
    'Content-Type': 'application/json',
    'x-api-key': process.env.LOGFLARE_PUBLIC_ACCESS_TOKEN ?? '',
  };
  const untilMs = Date.now() + 30_000;
  for (let waitMs = 1000; ; waitMs *= 2) {
    const problem = await post(url, headers, JSON.stringify(body));
    if (problem === undefined) return;
    if (!problem.isPassing || Date.now() + waitMs > untilMs) throw new Error(`${source}: ${problem.text}`);
    await setTimeout(waitMs);
  }
}

type Problem = { text: string; isPassing: boolean };

async function post(
  url: string,
  headers: Record<string, string>,
  body: string,
): Promise<Problem | undefined> {
  try {
    const response = await fetch(url, { method: 'POST', headers, body });
    const text = await response.text();
    if (response.ok) return undefined;
    return {
      text: `${response.status} ${text}`,
      isPassing: response.status === 429 || response.status >= 500,
    };
  } catch (cause) {
    return { text: String(cause), isPassing: true };
  }
}
