import { SetupError, type SetupProblem } from '../base/setup-error.ts';

/** The result of a check: fine, or the problems and how to fix them. */
export type Finding =
  | {
      readonly isFine: true;
      readonly found: string;
      /** What works, but should be improved. */
      readonly advice?: readonly SetupProblem[];
    }
  | { readonly isFine: false; readonly problems: readonly SetupProblem[] };

/** One check of the doctor. */
export type Check = {
  /** What is checked, in a few words. */
  readonly subject: string;
  /** An error that it throws is a problem found, too. */
  readonly run: () => Promise<Finding>;
  /** What to do if `run` throws; a SetupError brings its own fixes. */
  readonly fixForFailure: string;
};

/**
 * Runs the checks one after the other, and prints what each found.
 * @param print takes one line, without its line break
 * @returns whether all is fine
 */
export async function runChecks(checks: readonly Check[], print: (line: string) => void): Promise<boolean> {
  let isAllFine = true;
  for (const check of checks) {
    const finding = await run(check);
    isAllFine &&= finding.isFine;
    if (finding.isFine) print(`ok     ${check.subject}: ${finding.found}`);
    const word = finding.isFine ? 'advice' : 'WRONG ';
    for (const { found, fix } of (finding.isFine ? finding.advice : finding.problems) ?? []) {
      print(`${word} ${check.subject}: ${found}`);
      print(`       to do: ${fix}`);
    }
  }
  return isAllFine;
}

async function run({ run: runCheck, fixForFailure: fix }: Check): Promise<Finding> {
  try {
    return await runCheck();
  } catch (error) {
    if (error instanceof SetupError) return { isFine: false, problems: error.problems };
    return {
      isFine: false,
      problems: [{ found: error instanceof Error ? error.message : String(error), fix }],
    };
  }
}
