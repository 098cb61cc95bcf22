/** Candidates beyond this number, and longer names, are ignored, so that an error costs less than a millisecond. */
const maxCandidates = 1000;
const maxLength = 64;

/**
 * Finds the name that was probably meant: one with at most two typing errors, or one in a short name. Case does not matter.
 * @param candidates the first of equally near ones wins
 */
export function nearestName(name: string, candidates: Iterable<string>): string | undefined {
  if (name.length > maxLength) return undefined;
  const wanted = name.toLowerCase();
  let best: string | undefined;
  let least = Math.min(2, Math.floor(name.length / 3)) + 1;
  let looked = 0;
  for (const candidate of candidates) {
    if (++looked > maxCandidates || least === 0) break;
    if (candidate.length > maxLength || Math.abs(candidate.length - name.length) >= least) continue;
    const found = distance(wanted, candidate.toLowerCase(), least);
    if (found >= least) continue;
    least = found;
    best = candidate;
  }
  return best;
}

/** The end of a message about an unknown name, in GoogleSQL's words: `; Did you mean id?`, or empty. */
export function didYouMean(name: string, candidates: Iterable<string>): string {
  const nearest = nearestName(name, candidates);
  return nearest === undefined ? '' : `; Did you mean ${nearest}?`;
}

/**
 * Letters to insert, delete, replace or swap with their neighbour: the optimal string alignment distance.
 * @param limit counting stops there
 */
function distance(one: string, other: string, limit: number): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let row = 1; row <= one.length; row++) {
    const current = [row];
    for (let column = 1; column <= other.length; column++) {
      const isSame = one[row - 1] === other[column - 1];
      let least = Math.min(last[column]! + 1, current[column - 1]! + 1, last[column - 1]! + (isSame ? 0 : 1));
      const isSwap = one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      if (row > 1 && column > 1 && isSwap) least = Math.min(least, beforeLast[column - 2]! + 1);
      current.push(least);
    }
    if (Math.min(...current) >= limit) return limit;
    [beforeLast, last] = [last, current];
  }
  return last[other.length]!;
}
