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
  readonly look: () => Promise<Finding>;
  /** What to do where `look` throws; a SetupError says that itself. */
  readonly fixForFailure: string;
};

/**
 * Looks at one thing after the other, and says for each what was found.
 * @param say takes one line, without its end
 * @returns whether all is fine
 */
export async function runChecks(checks: readonly Check[], say: (line: string) => void): Promise<boolean> {
  let isAllFine = true;
  for (const check of checks) {
    const finding = await look(check);
    isAllFine &&= finding.isFine;
    if (finding.isFine) say(`ok     ${check.subject}: ${finding.found}`);
    const word = finding.isFine ? 'advice' : 'WRONG ';
    for (const { found, fix } of (finding.isFine ? finding.advice : finding.problems) ?? []) {
      say(`${word} ${check.subject}: ${found}`);
      say(`       to do: ${fix}`);
    }
  }
  return isAllFine;
}

async function look({ look: lookAt, fixForFailure: fix }: Check): Promise<Finding> {
  try {
    return await lookAt();
  } catch (error) {
    if (error instanceof SetupError) return { isFine: false, problems: error.problems };
    return {
      isFine: false,
      problems: [{ found: error instanceof Error ? error.message : String(error), fix }],
    };
  }
}
