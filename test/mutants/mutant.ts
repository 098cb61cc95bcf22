/** A promise of what nobody does to others, broken on purpose, and the test that must notice. */
export type Mutant = {
  /** What is promised. */
  readonly promise: string;
  /** The file that keeps the promise, from the root of the repository. */
  readonly file: string;
  /** Text of that file; it occurs once. */
  readonly find: string;
  /** What stands there once the promise is broken. It must load and pass for sound code. */
  readonly replace: string;
  /** The test that then fails: its file, and its title or a part of it that is written there as it stands. */
  readonly test: readonly [file: string, title: string];
};
