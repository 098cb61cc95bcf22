import { existsSync, statSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { type ReferenceServer, startReferenceServer } from '../oracle/reference-server.ts';
import { openSmallEngine } from '../oracle/small-engine.ts';
import { type Judgement, judgeCase } from './judge-case.ts';
import { readCompliance } from './read-compliance.ts';
import { readDocumentation } from './read-documentation.ts';
import { readEmulatorSuite } from './read-emulator-suite.ts';
import type { SuiteCase } from './suite-case.ts';

/** Runs what others wrote about GoogleSQL: documentation and compliance tests of a checkout, or goccy's query_test.go. */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    list: { type: 'string', default: '' },
    filter: { type: 'string', default: '' },
    suite: { type: 'string', default: '' },
    top: { type: 'string', default: '40' },
  },
});
const [path = ''] = positionals;
if (!existsSync(path)) {
  process.stderr.write(
    'usage: npm run test:googlesql -- <checkout of google/googlesql, or query_test.go of goccy/go-zetasqlite>\n' +
      '  [--suite documentation|compliance] [--filter <pattern of file, name or SQL>] [--top 40]\n' +
      '  [--list <one or more of equal, reference, wrong, failed, refused, unsteady, skipped, with commas>]\n',
  );
  process.exit(2);
}
const print = (text: string) => process.stdout.write(`${text}\n`);

const suites: readonly (readonly [string, () => SuiteCase[]])[] = statSync(path).isFile()
  ? [['emulator', () => readEmulatorSuite(path)]]
  : [
      ['documentation', () => readDocumentation(path)],
      ['compliance', () => readCompliance(path)],
    ];
const filter = new RegExp(values.filter, 'i');
const listed = values.list === '' ? [] : values.list.split(',');
let reference: ReferenceServer = await startReferenceServer();
let isClean = true;
for (const [name, read] of suites) {
  if (!name.startsWith(values.suite)) continue;
  const cases = read().filter(({ at, sql }) => filter.test(at) || filter.test(sql));
  report(name, await judgeAll(cases));
}
reference.stop();
process.exitCode = isClean ? 0 : 1;

type Judged = { readonly suiteCase: SuiteCase; readonly judgement: Judgement };

/** Cases that follow one another share their tables, and so one database. */
async function judgeAll(cases: readonly SuiteCase[]): Promise<Judged[]> {
  const judged: Judged[] = [];
  for (const group of Map.groupBy(cases, ({ tables }) => tables).values()) {
    const tables = group[0]!.tables;
    const engine = await openSmallEngine(tables);
    await engine.fill(Object.fromEntries(tables.map(table => [table.name, table.rows])));
    for (const suiteCase of group) {
      const judgement = await judgeCase(suiteCase, engine, reference).catch(
        (error: Error): Judgement => ({ kind: 'failed', detail: `THROWN ${error.stack}` }),
      );
      if (/UNAVAILABLE/.test(judgement.detail)) {
        reference.stop();
        reference = await startReferenceServer();
      }
      judged.push({ suiteCase, judgement });
    }
    engine.stop();
  }
  return judged;
}

function report(name: string, judged: readonly Judged[]): void {
  const counts = new Map<Judgement['kind'], number>();
  const reasons = new Map<string, number>();
  for (const { judgement, suiteCase } of judged) {
    const { kind, detail } = judgement;
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
    if (listed.some(end => kind.endsWith(end)))
      print(`${kind.toUpperCase()} ${suiteCase.at}\n${suiteCase.sql}\n${detail}\n`);
    if (kind === 'refused' || kind === 'failed' || kind === 'skipped') {
      const reason = `${kind}: ${detail.replace(/ (?:at \[|\[at ).*|\n[\s\S]*$/g, '')}`;
      reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
    }
  }
  const count = (kind: Judgement['kind']) => counts.get(kind) ?? 0;
  const run = judged.length - count('skipped') - count('unsteady');
  const equal = count('equal') + count('like the reference');
  const share = run === 0 ? 0 : (100 * equal) / run;
  const top = [...reasons].sort((a, b) => b[1] - a[1]).slice(0, Number(values.top));
  for (const [reason, times] of top) print(`${times} × ${reason}`);
  print(
    `${name}: ${run} queries run, ${equal} equal (${share.toFixed(1)} %; ${count('like the reference')} of them only`,
  );
  print(
    `  like the reference), ${count('wrong')} wrong, ${count('failed')} failed, ${count('refused')} refused;`,
  );
  print(`  left out: ${count('skipped')} by a reason above, ${count('unsteady')} whose answer may vary\n`);
  if (count('wrong') + count('failed') > 0) isClean = false;
}
