import { bindBatch } from '../../src/endpoints/bind-batch.ts';
import type { EndpointDefinition } from '../../src/endpoints/definition.ts';
import type { Explanation, QueryParameter, Statement } from '../../src/engine/engine.ts';
import { parseQuery } from '../../src/googlesql/syntax/parse-query.ts';

/** Whether a bound of a saved query makes BigQuery read less of a table. */
export type PruningFinding = {
  readonly query: string;
  readonly bound: string;
  /**
   * `cannot tell`: no more does the same bound as a literal, so the table has no partitions, or rows in one of them only.
   * `no table`: the source is not in the mapping.
   */
  readonly verdict: 'prunes' | 'reads everything' | 'cannot tell' | 'no table';
};

/** A dry run; throws where the statement reads a source without a table. */
type Explain = (statement: Statement) => Promise<Explanation>;

/** Two statements of one text, and the bounds that their values come to, as literals. */
type PruningCase = Pick<PruningFinding, 'query' | 'bound'> & {
  readonly narrow: Statement;
  readonly wide: Statement;
  readonly literals: { readonly narrow: string; readonly wide: string };
};

/**
 * Compares dry runs of `logs.all`, each subset of it, and `usage.api-counts`, with its batch form, under a narrow and a wide
 * bound. They are judged by the same bounds as literals over the same table, by which BigQuery prunes for certain.
 */
export async function checkPruning(
  explain: Explain,
  definitions: readonly EndpointDefinition[],
  nowMs: number,
): Promise<PruningFinding[]> {
  const [logs, usage] = ['logs.all', 'usage.api-counts'].map(
    name => definitions.find(definition => definition.name === name)!,
  );
  const findings: PruningFinding[] = [];
  for (const one of [...casesOfLogs(logs!, nowMs), ...casesOfUsage(usage!, nowMs)]) {
    const { query, bound } = one;
    findings.push({ query, bound, verdict: await judge(explain, one) });
  }
  return findings;
}

async function judge(
  explain: Explain,
  { narrow, wide, literals }: PruningCase,
): Promise<PruningFinding['verdict']> {
  const whole = await explain(wide).catch(() => undefined);
  if (!whole) return 'no table';
  const overTable = async (bound: string) => {
    const sql = `select id, timestamp from \`${whole.sources[0]}\` where ${bound}`;
    return (await explain({ endpoint: 'pruning', sql, parameters: [], maxRows: 1 })).estimatedBytes;
  };
  if (!isLess(await overTable(literals.narrow), await overTable(literals.wide))) return 'cannot tell';
  const part = await explain(narrow);
  return isLess(part.estimatedBytes, whole.estimatedBytes) ? 'prunes' : 'reads everything';
}

function isLess(one: number | undefined, other: number | undefined): boolean {
  return one !== undefined && other !== undefined && one < other;
}

/** Each subset, with a start alone and with an end alone. */
function casesOfLogs(definition: EndpointDefinition, nowMs: number): PruningCase[] {
  const yesterday = new Date(nowMs - 86_400_000).toISOString();
  const longAgo = '2000-01-01T00:00:00.000Z';
  const bounds = [
    {
      bound: 'iso_timestamp_start',
      value: yesterday,
      literals: { narrow: later(yesterday), wide: later('0001-01-01T00:00:00.000Z') },
    },
    {
      bound: 'iso_timestamp_end',
      value: longAgo,
      literals: { narrow: notLater(longAgo), wide: notLater('9999-12-31T00:00:00.000Z') },
    },
  ];
  return parseQuery(definition.sql).with.flatMap(({ name: { name } }) =>
    bounds.map(({ bound, value, literals }) => {
      const of = (values: Readonly<Record<string, string>>): Statement => ({
        endpoint: definition.name,
        sql: definition.sql,
        callerSql: `select id, timestamp from ${name}`,
        parameters: bind(definition, { project: 'nobody', ...values }),
        maxRows: 1,
      });
      return { query: name, bound, narrow: of({ [bound]: value }), wide: of({}), literals };
    }),
  );
}

/** Its CASE over the interval: an hour, and seven days. */
function casesOfUsage(definition: EndpointDefinition, nowMs: number): PruningCase[] {
  const { name: endpoint, sql, batch } = definition;
  const literals = {
    narrow: later(new Date(nowMs - 3_600_000).toISOString()),
    wide: later(new Date(nowMs - 7 * 86_400_000).toISOString()),
  };
  const valuesOf = (interval: string) => bind(definition, { project: 'nobodysproject', interval });
  const single = (interval: string): Statement => ({
    endpoint,
    sql,
    parameters: valuesOf(interval),
    maxRows: 1,
  });
  const many = (interval: string): Statement => ({
    endpoint,
    sql: batch!.sql,
    parameters: bindBatch(definition, ['nobodysproject', 'somebodysproject'], valuesOf(interval)),
    maxRows: 1,
  });
  return [
    { query: endpoint, bound: 'minutely', narrow: single('minutely'), wide: single('daily'), literals },
    { query: endpoint, bound: 'hourly', narrow: single('hourly'), wide: single('daily'), literals },
    { query: `${endpoint}, batch`, bound: 'hourly', narrow: many('hourly'), wide: many('daily'), literals },
  ];
}

const later = (text: string) => `timestamp > timestamp '${text}'`;
const notLater = (text: string) => `timestamp <= timestamp '${text}'`;

function bind(
  { parameters }: EndpointDefinition,
  values: Readonly<Record<string, string>>,
): QueryParameter[] {
  return parameters.map(({ name }) => ({ name, value: values[name] ?? null }));
}
