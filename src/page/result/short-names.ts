/** Names without the words that all of them begin or end with, such as `rest` of `total_rest_requests`, and those words. */
export function shortNames(names: readonly string[]): {
  readonly names: readonly string[];
  /** What was left out, as `total_…_requests`; undefined if nothing was. */
  readonly pattern: string | undefined;
} {
  const split = names.map(name => name.split('_'));
  const [first = []] = split;
  const most = Math.min(...split.map(words => words.length)) - 1;
  if (names.length < 2 || most < 1) return { names, pattern: undefined };
  const sharedBy = (wordOf: (words: readonly string[], at: number) => string | undefined, limit: number) => {
    let count = 0;
    while (count < limit && split.every(words => wordOf(words, count) === wordOf(first, count))) count++;
    return count;
  };
  const before = sharedBy((words, at) => words[at], most);
  const after = sharedBy((words, at) => words.at(-1 - at), most - before);
  if (before + after === 0) return { names, pattern: undefined };
  const pattern = [...first.slice(0, before), '…', ...first.slice(first.length - after)].join('_');
  return { names: split.map(words => words.slice(before, words.length - after).join('_')), pattern };
}
