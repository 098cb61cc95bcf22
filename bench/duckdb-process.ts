import { openDirectDuckDb } from './direct-duckdb.ts';

/** A statement with its parameters, and the file that it reads. */
export type QuerySettings = {
  readonly file: string;
  /** Of the saved query. */
  readonly sql: string;
  readonly parameters: Readonly<Record<string, string>>;
};

/** Takes its settings as the first message, and runs the statement for each further one, which it answers with the rows. */
process.once('message', async ({ file, sql, parameters }: QuerySettings) => {
  const direct = await openDirectDuckDb(file);
  const compiled = direct.compile(sql);
  process.on('message', async () => {
    process.send?.(Buffer.from(await direct.runCompiled(compiled, parameters)));
  });
  process.send?.('ready');
});

process.once('disconnect', () => process.exit());
