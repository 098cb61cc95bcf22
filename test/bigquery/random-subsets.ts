import fc from 'fast-check';

/** A query with subsets, written by chance, and which of its subsets the final statement needs. */
export type RandomStatement = {
  readonly sql: string;
  readonly callerSql: string | undefined;
  /** Names of the subsets that the final statement reads, or reads through others; the saved query's, in its order. */
  readonly needed: readonly string[];
};

/** A source with a table, and one that is mapped to none: what reads it can't run. */
export type RandomSources = { readonly mapped: string; readonly unmapped: string };

type Part = { readonly text: string; readonly reads: readonly number[]; readonly readsUnmapped?: boolean };

/** Ways in which a text can read one or two subsets; each gives one row with the column `n`. */
const readers: readonly ((a: string, b: string) => string)[] = [
  a => `select n + 1 as n from ${a}`,
  (a, b) => `select max(x.n) + max(y.n) as n from ${a} as x cross join ${b} as y`,
  (a, b) => `select count(*) as n from (${a} as x join ${b} as y on x.n = y.n)`,
  (a, b) => `select max(n) as n from (select n from ${a} union all (select n from ${b}))`,
  (a, b) => `select n + (select max(n) from ${a}) as n from ${b}`,
  (a, b) => `select if(exists(select 1 from ${a}), n, 2) as n from ${b}`,
  (a, b) => `select n from ${a} where n not in (select n + 1 from ${b})`,
  (a, b) => `select n from ${a} order by (select max(n) from ${b}), n limit 1`,
  (a, b) => `with mine as (select n from ${a}) select max(mine.n) as n from mine, ${b}`,
  a => `with ${a} as (select n + 1 as n from ${a}) select n from ${a}`,
  (a, b) => `with mine as (select n from ${a}) select n * 3 as n from ${b}`,
  (a, b) => `select array_length(array(select n from ${a})) as n from ${b} group by all`,
];

/** What may stand between two words; comments hold nothing that a text is searched for. */
const gaps = [' ', '\n', '\n\t', ' -- and, then (\n', ' /* with, */ ', '\n# so\n', '\r\n'];

/** Random graphs of up to seven subsets, each of which reads earlier ones, a source or nothing. */
export function randomStatements(sources: RandomSources): fc.Arbitrary<RandomStatement> {
  const choices = fc.record({
    count: fc.integer({ min: 0, max: 7 }),
    picks: fc.array(fc.nat(), { minLength: 60, maxLength: 60 }),
    isCallers: fc.boolean(),
  });
  return choices.map(({ count, picks, isCallers }) => {
    let used = 0;
    const pick = (below: number) => picks[used++ % picks.length]! % below;
    const spelled = (at: number) => [`s${at}`, `S${at}`, `\`s${at}\``][pick(3)]!;

    /** A text that may read the subsets before a place. */
    function part(before: number): Part {
      const leaf = pick(before === 0 ? 4 : 8);
      if (leaf === 0) return { text: `select count(*) as n from \`${sources.mapped}\``, reads: [] };
      if (leaf === 1)
        return { text: `select count(*) as n from \`${sources.unmapped}\``, reads: [], readsUnmapped: true };
      if (leaf < 4 && (leaf === 2 || before === 0)) return { text: `select ${before} as n`, reads: [] };
      const [a, b] = [pick(before), pick(before)];
      // A name of its own hides the subset of that name.
      if (leaf === 3) return { text: `with s${a} as (select 7 as n) select n from s${a}`, reads: [] };
      const reader = readers[pick(readers.length)]!;
      const reads = reader.length === 1 ? [a] : [a, b];
      return { text: reader(spelled(a), spelled(b)), reads };
    }

    const subsets = Array.from({ length: count }, (_, at) => part(at));
    const isNeeded = (roots: readonly number[]): ReadonlySet<number> => {
      const needed = new Set(roots);
      for (const at of needed) for (const read of subsets[at]!.reads) needed.add(read);
      return needed;
    };
    // What reaches a source without a table is for other tests.
    const mayReach = (roots: readonly number[]) =>
      [...isNeeded(roots)].every(at => !subsets[at]!.readsUnmapped);

    function final(mayReadSources: boolean): Part {
      for (let attempt = 0; attempt < 10; attempt++) {
        const candidate = part(count);
        const readsSource = candidate.text.includes(sources.mapped) || candidate.readsUnmapped;
        if (readsSource && (!mayReadSources || candidate.readsUnmapped)) continue;
        if (mayReach(candidate.reads)) return candidate;
      }
      return { text: 'select 11 as n', reads: [] };
    }

    const gap = () => gaps[pick(gaps.length)]!;
    const list = subsets.map(({ text }, at) => `s${at}${gap()}as${gap()}(${gap()}${text}${gap()})${gap()}`);
    const opening = count > 0 ? `/* a header */ with${gap()}` : '/* a header */ ';
    const listed = list.map((item, at) => (at > 0 ? `,${gap()}${item}` : item)).join('');
    const saved = final(true);
    // Behind subsets a statement with subsets of its own stands in parentheses.
    const savedText = count > 0 && saved.text.startsWith('with') ? `(${saved.text}${gap()})` : saved.text;
    const own = isCallers ? final(false) : undefined;
    return {
      sql: `${opening}${listed}${gap()}${savedText}`,
      callerSql: own && `${gap()}${own.text}${['', ';', '\n;', ' -- end'][pick(4)]}`,
      needed: [...isNeeded((own ?? saved).reads)].sort().map(at => `s${at}`),
    };
  });
}
