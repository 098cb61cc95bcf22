import { parseArgs } from 'node:util';
import fc from 'fast-check';
import { compareEngines, type Verdict } from './compare-engines.ts';
import { knownRefusals } from './known-refusals.ts';
import { randomJsonQueries } from './random-json.ts';
import { randomQueries } from './random-queries.ts';
import { randomRows } from './random-rows.ts';
import { startReferenceServer } from './reference-server.ts';
import { openSmallEngine } from './small-engine.ts';
import { smallTables } from './small-tables.ts';
import { spellingsOf } from './spellings.ts';

/** Compares random queries for so many minutes; ends with 1 when one answer was wrong. */
const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '2' },
    seed: { type: 'string', default: String(Date.now() % 1e9) },
  },
});
const deadline = Date.now() + Number(values.minutes) * 60_000;
const batchSize = 50;
const queries = fc.oneof(
  { weight: 19, arbitrary: randomQueries() },
  { weight: 1, arbitrary: randomJsonQueries().map(spellingsOf) },
);
const print = (text: string) => process.stdout.write(`${text}\n`);

let reference = await startReferenceServer();
const engines = await Promise.all(
  (['list', 'single'] as const).map(async layout => {
    const tables = smallTables(layout);
    return { layout, tables, engine: await openSmallEngine(tables) };
  }),
);
const counts: Record<Verdict['kind'], number> = {
  equal: 0,
  bothFail: 0,
  refused: 0,
  unknownToReference: 0,
  wrong: 0,
};
/** Queries in which the reference crashed, and refusals without a reason. */
let [crashes, unlisted] = [0, 0];
const isKnown = (detail: string) => knownRefusals.some(([message]) => message.test(detail));
const reasons = new Map<string, number>();

for (let seed = Number(values.seed); Date.now() < deadline; seed += 1) {
  const [rows = {}] = fc.sample(randomRows, { seed, numRuns: 1 });
  const { layout, tables, engine } = engines[seed % 2]!;
  await engine.fill(rows);
  for (const query of fc.sample(queries, { seed, numRuns: batchSize })) {
    const verdict = await compareEngines(reference, engine, query, { tables, rows, parameters: {} });
    if (/No connection established|Connection dropped/.test(verdict.detail)) {
      // The reference crashed in the query, or in the one before.
      reference.stop();
      reference = await startReferenceServer();
      crashes += 1;
      continue;
    }
    counts[verdict.kind] += 1;
    if (verdict.kind === 'refused' && !isKnown(verdict.detail)) unlisted += 1;
    if (verdict.kind === 'wrong') print(`WRONG (seed ${seed}, ${layout})\n${query.sql}\n${verdict.detail}\n`);
    if (verdict.kind === 'refused' && !isKnown(verdict.detail))
      print(`REFUSED (seed ${seed}, ${layout})\n${query.sql}\n${verdict.detail}\n`);
    if (verdict.kind === 'equal') continue;
    const reason = `${verdict.kind}: ${verdict.detail.replace(/ (?:at \[|\[at ).*|\n[\s\S]*$/g, '')}`;
    reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  }
}
reference.stop();
for (const { engine } of engines) engine.stop();

const compared = Object.values(counts).reduce((sum, count) => sum + count, 0);
print(
  `seed ${values.seed}: ${compared} queries compared, ${JSON.stringify(counts)}, ${unlisted} refused without a listed reason, the reference crashed in ${crashes}`,
);
for (const [reason, count] of [...reasons].sort((a, b) => b[1] - a[1])) print(`${count} × ${reason}`);
process.exitCode = counts.wrong + unlisted === 0 ? 0 : 1;
