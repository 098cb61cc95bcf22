/** What a check found: fine, or wrong and how that is put right. */
export type Finding =
  | { readonly isFine: true; readonly found: string }
  | { readonly isFine: false; readonly found: string; readonly fix: string };

/** One thing that the doctor looks at. */
export type Check = {
  /** What is looked at, in a few words. */
  readonly subject: string;
  /** What it throws is found wrong too. */
  readonly look: () => Promise<Finding>;
  /** What to do where `look` throws. */
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
    say(`${finding.isFine ? 'ok   ' : 'WRONG'}  ${check.subject}: ${finding.found}`);
    if (!finding.isFine) say(`       to do: ${finding.fix}`);
  }
  return isAllFine;
}

async function look({ look: lookAt, fixForFailure: fix }: Check): Promise<Finding> {
  try {
    return await lookAt();
  } catch (error) {
    return { isFine: false, found: error instanceof Error ? error.message : String(error), fix };
  }
}
