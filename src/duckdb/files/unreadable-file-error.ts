/** A file or other input of rows that can't be read, and why; shown without a stack. */
export class UnreadableFileError extends Error {
  override readonly name = 'UnreadableFileError';
}
