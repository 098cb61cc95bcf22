import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { fuzzSandbox } from './fuzz.ts';
import { openMarkedDatabase, otherValues } from './marked-database.ts';

/** `npm run fuzz:sandbox -- --mutants 1000000 --seed 1 --run-every 20`: ends with 1 where anything escaped. */
const { values } = parseArgs({
  options: {
    mutants: { type: 'string', default: '100000' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    'run-every': { type: 'string', default: '20' },
  },
});
const say = (text: string) => process.stdout.write(`${text}\n`);
const directory = await mkdtemp(join(tmpdir(), 'sandbox-'));
try {
  const startedMs = performance.now();
  say(`seed ${values.seed}`);
  let [shown, told] = [0, 0];
  const { counts, escapes } = await fuzzSandbox({
    seed: Number(values.seed),
    mutants: Number(values.mutants),
    runEvery: Number(values['run-every']),
    marked: await openMarkedDatabase(join(directory, 'marked.duckdb'), { hidden: true }),
    other: await openMarkedDatabase(join(directory, 'other.duckdb'), { hidden: true, values: otherValues }),
    plain: await openMarkedDatabase(join(directory, 'plain.duckdb'), { hidden: false }),
    onProgress: ({ mutants, accepted, executed }, found) => {
      for (; told < found.length; told++) say(JSON.stringify(found[told]));
      if (mutants < shown + 50_000) return;
      shown = mutants;
      say(`${mutants} mutants, ${accepted} accepted, ${executed} executed`);
    },
  });
  say(
    JSON.stringify({
      ...counts,
      escapes: escapes.length,
      seconds: Math.round((performance.now() - startedMs) / 1000),
    }),
  );
  process.exitCode = escapes.length > 0 ? 1 : 0;
} finally {
  await rm(directory, { recursive: true });
}
