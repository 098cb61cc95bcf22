/** A file that rows were to come from, and why it can't be read: for whoever named it. */
export class UnreadableFileError extends Error {
  override readonly name = 'UnreadableFileError';
}
