/** Fields that say most of a log row, the most telling first. */
export const telling = [
  'path',
  'status_code',
  'error_severity',
  'level',
  'method',
  'function_id',
  'status',
  'host',
  'country',
];

/** Maximum leaves in a summary. */
const maxLeaves = 12;

/** A record in one line, the most telling fields first; NULL and empty lists are omitted. */
export function summaryOf(value: unknown): string {
  const leaves = leavesOf(value);
  const rank = (name: string) => (telling.indexOf(name) + telling.length + 1) % (telling.length + 1);
  return leaves
    .map((leaf, at) => ({ ...leaf, at }))
    .sort((one, other) => rank(one.name) - rank(other.name) || one.at - other.at)
    .slice(0, maxLeaves)
    .map(({ name, text }) => (name === '' ? text : `${name}: ${text}`))
    .join('  ');
}

type Leaf = { readonly name: string; readonly text: string };

/** Maximum leaves and records of a level that are examined, since this is done for each drawn row. */
const maxLooked = 1000;

/** The leaves of a record, those of its outer levels first. */
function leavesOf(value: unknown): Leaf[] {
  const leaves: Leaf[] = [];
  let level: [string, unknown][] = [['', value]];
  while (level.length > 0 && leaves.length < 100) {
    const next: [string, unknown][] = [];
    for (const [name, inner] of level.slice(0, maxLooked)) {
      if (inner === null || inner === undefined) continue;
      if (typeof inner !== 'object') leaves.push({ name, text: String(inner).slice(0, 100) });
      else if (Array.isArray(inner)) for (const each of inner.slice(0, 20)) next.push([name, each]);
      else next.push(...Object.entries(inner).slice(0, 100));
    }
    level = next;
  }
  return leaves;
}
