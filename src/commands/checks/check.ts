import { messageOf } from '../../base/errors.ts';
import { SetupError, type SetupProblem } from '../../base/setup-error.ts';

/** The result of a check: fine, or the problems and how to fix them. */
export type Finding =
  | {
      readonly isFine: true;
      readonly found: string;
      /** Things that work, but should be improved. */
      readonly advice?: readonly SetupProblem[];
    }
  | { readonly isFine: false; readonly problems: readonly SetupProblem[] };

/** One check of the doctor. */
export type Check = {
  /** What is checked, in a few words. */
  readonly subject: string;
  /** Runs the check; an error that it throws counts as a problem found. */
  readonly run: () => Promise<Finding>;
  /** What to do if `run` throws; a SetupError brings its own fixes. */
  readonly fixForFailure: string;
};

/**
 * Runs the checks one after another.
 * @param report called with each finding as soon as it is known
 * @returns whether all is fine
 */
export async function runChecks(
  checks: readonly Check[],
  report: (subject: string, finding: Finding) => void,
): Promise<boolean> {
  let isAllFine = true;
  for (const check of checks) {
    const finding = await run(check);
    isAllFine &&= finding.isFine;
    report(check.subject, finding);
  }
  return isAllFine;
}

/** The lines to print for a finding: problems, and how to fix them. */
export function linesOf(subject: string, finding: Finding): string[] {
  const word = finding.isFine ? 'advice' : 'WRONG ';
  const problems = (finding.isFine ? finding.advice : finding.problems) ?? [];
  return [
    ...(finding.isFine ? [`ok     ${subject}: ${finding.found}`] : []),
    ...problems.flatMap(({ found, fix }) => [`${word} ${subject}: ${found}`, `       to do: ${fix}`]),
  ];
}

async function run({ run: runCheck, fixForFailure: fix }: Check): Promise<Finding> {
  try {
    return await runCheck();
  } catch (error) {
    if (error instanceof SetupError) return { isFine: false, problems: error.problems };
    return {
      isFine: false,
      problems: [{ found: messageOf(error), fix }],
    };
  }
}
