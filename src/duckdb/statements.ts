import type { DuckDBConnection, DuckDBPreparedStatement } from '@duckdb/node-api';

/** The prepared statements of one connection. Each runs once: a kept one also keeps the memory of its last run, which may be hundreds of megabytes. */
export type Statements = {
  /**
   * Prepares a statement, or gives the one that is prepared already; the caller destroys it.
   * @throws Error with DuckDB's message
   */
  take(sql: string): Promise<DuckDBPreparedStatement>;
  /** Prepares the last statement once more, if it has come twice in a row: the next run does not wait for that then. */
  prepareNext(): void;
  /** Destroys what is prepared already: what it was prepared for is about to change. */
  drop(): Promise<void>;
};

/** Milliseconds of preparing beyond which nothing is prepared before it comes: nobody can interrupt that, and what comes instead waits for it. */
const maxMs = 10;

/**
 * @param connection on which nothing else is prepared
 * @param now milliseconds
 */
export function createStatements(
  connection: Pick<DuckDBConnection, 'prepare'>,
  now = () => performance.now(),
): Statements {
  let last: { readonly sql: string; readonly tookMs: number } | undefined;
  let isRepeated = false;
  let next: Promise<DuckDBPreparedStatement | undefined> | undefined;

  /** What is prepared already, which nobody else gets. */
  function takeNext() {
    const taken = next;
    next = undefined;
    return taken;
  }

  return {
    async take(sql) {
      isRepeated = sql === last?.sql;
      const ready = await takeNext();
      if (ready && isRepeated) return ready;
      ready?.destroySync();
      const startedMs = now();
      const prepared = await connection.prepare(sql);
      last = { sql, tookMs: now() - startedMs };
      return prepared;
    },
    prepareNext() {
      if (!last || !isRepeated || next || last.tookMs > maxMs) return;
      // What is wrong with it is for the run to say.
      next = connection.prepare(last.sql).catch(() => undefined);
    },
    async drop() {
      (await takeNext())?.destroySync();
    },
  };
}
