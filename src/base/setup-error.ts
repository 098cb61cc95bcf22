/** One thing that is not as the service needs it, for the operator: it may name tables, addresses, files. */
export type SetupProblem = {
  readonly found: string;
  /** How it is put right. */
  readonly fix: string;
};

/** What the service is to run with can't be used; the message has every problem, and what to do. */
export class SetupError extends Error {
  override readonly name = 'SetupError';
  readonly problems: readonly SetupProblem[];

  constructor(message: string, problems: readonly SetupProblem[]) {
    const lines = problems.map(({ found, fix }) => `${found}\n  to do: ${fix}`);
    super([message, ...lines].join('\n'));
    this.problems = problems;
  }
}
