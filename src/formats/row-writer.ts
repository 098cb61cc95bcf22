/** Writes the rows of one answer in another format, range by range. */
export type RowWriter = {
  /** Writes what precedes the rows; called once. */
  start(): Buffer;
  /** @param rows one range of `cutRows`: `{…},{…}`, UTF-8 */
  write(rows: Buffer): Buffer;
  /** Writes what follows the rows; called once. */
  finish(): Buffer;
};
