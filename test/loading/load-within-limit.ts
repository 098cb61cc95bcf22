import { parseSource } from '../../src/endpoints/parse-source.ts';
import { acceptRows } from '../../src/loading/accept-rows.ts';
import { rowsFolderOf } from '../../src/loading/accepted-rows.ts';
import { storeAccepted } from '../../src/loading/store-accepted.ts';

/** A process of its own, which may be refused room: accepts rows, or stores what was accepted, and prints what came of it. */
const [task, databasePath = '', from = '0', to = '0'] = process.argv.slice(2);
const numbers = parseSource('numbers.yaml', 'name: numbers\ncolumns: { n: INT64, text: STRING }\n', '/');

/** Text that does not compress. */
function noise(n: number): string {
  let state = n + 1;
  return Array.from({ length: 100 }, () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return state.toString(36);
  }).join('');
}

async function* rows() {
  for (let n = Number(from); n < Number(to); n++) yield JSON.stringify({ n, text: noise(n) });
}

async function run(): Promise<object> {
  if (task === 'accept') {
    return acceptRows({ folder: rowsFolderOf(databasePath), source: numbers, lines: rows() });
  }
  const events: object[] = [];
  while (await storeAccepted({ databasePath, sources: [numbers], emit: event => void events.push(event) }));
  return { events };
}

try {
  process.stdout.write(JSON.stringify(await run()));
} catch (error) {
  process.stdout.write(JSON.stringify({ error: String(error) }));
}
// A database that was refused room must not be closed in order.
process.kill(process.pid, 'SIGKILL');
