/** What rows were to come from, and why it can't be read: said without a stack to whoever named it. */
export class UnreadableFileError extends Error {
  override readonly name = 'UnreadableFileError';
}
