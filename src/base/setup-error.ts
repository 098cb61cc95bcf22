/** A problem of the set-up, for the operator: it may name tables, addresses, files. */
export type SetupProblem = {
  readonly found: string;
  /** How to fix it. */
  readonly fix: string;
};

/** The set-up of the service is unusable; the message has every problem and its fix. */
export class SetupError extends Error {
  override readonly name = 'SetupError';
  readonly problems: readonly SetupProblem[];

  constructor(message: string, problems: readonly SetupProblem[]) {
    const lines = problems.map(({ found, fix }) => `${found}\n  to do: ${fix}`);
    super([message, ...lines].join('\n'));
    this.problems = problems;
  }
}
