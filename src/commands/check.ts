import { SetupError, type SetupProblem } from '../base/setup-error.ts';

/** What a check found: fine, or what is wrong and how that is put right. */
export type Finding =
  | {
      readonly isFine: true;
      readonly found: string;
      /** What works as it is, and would be better otherwise. */
      readonly advice?: readonly SetupProblem[];
    }
  | { readonly isFine: false; readonly problems: readonly SetupProblem[] };

/** One thing that the doctor looks at. */
export type Check = {
  /** What is looked at, in a few words. */
  readonly subject: string;
  /** What it throws is found wrong too. */
  readonly run: () => Promise<Finding>;
  /** What to do if `run` throws; a SetupError brings its own fixes. */
  readonly fixForFailure: string;
};

/**
 * Looks at one thing after the other, and says for each what was found.
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
