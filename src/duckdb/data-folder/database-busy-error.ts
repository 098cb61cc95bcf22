/** Another process has the database open: DuckDB allows either one writer or any number of readers. */
export class DatabaseBusyError extends Error {
  override readonly name = 'DatabaseBusyError';

  constructor(path: string, cause?: unknown) {
    super(
      `The database ${path} is in use by another process, perhaps a running gateway. Stop it, then try again`,
      { cause },
    );
  }
}
