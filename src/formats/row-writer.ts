/** Writes the rows of one answer in another format, some at a time. */
export type RowWriter = {
  /** What comes before the rows; called once. */
  start(): Buffer;
  /** @param rows one range of `cutRows`: `{…},{…}`, UTF-8 */
  write(rows: Buffer): Buffer;
  /** What comes after them; called once. */
  finish(): Buffer;
};
