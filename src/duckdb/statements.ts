import type { DuckDBConnection, DuckDBPreparedStatement } from '@duckdb/node-api';

/** The prepared statements of one connection. Each runs once: a kept one also keeps the memory of its last run, which may be hundreds of megabytes. */
export type Statements = {
  /**
   * Prepares a statement, or returns the one prepared in advance; the caller destroys it.
   * @throws Error with DuckDB's message
   */
  take(sql: string): Promise<DuckDBPreparedStatement>;
  /** Prepares the last statement in advance if it has come twice in a row, so that its next run does not wait for that. */
  prepareNext(): void;
  /** Destroys the statement prepared in advance, because the database is about to change. */
  drop(): Promise<void>;
};

/** Maximum milliseconds that preparing may take to be done in advance: it can't be interrupted, and another statement would wait for it. */
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

  /** Takes the statement prepared in advance: no other caller gets it. */
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
      // The run reports an error of the statement.
      next = connection.prepare(last.sql).catch(() => undefined);
    },
    async drop() {
      (await takeNext())?.destroySync();
    },
  };
}
