import { RE2JS, RE2JSSyntaxException } from 're2js';

/**
 * Maximum instructions of a regular expression's program: compiling it, and matching it where nothing better helps, take as long as
 * it is large, and `((a{100}){100}){100}` is short. A pattern that is longer itself may have one for each character.
 */
const maxPatternSize = 1500;

/** Why a pattern is too large to be compiled, with the limit; undefined where it is not. RE2 has not read it yet. */
export function patternProblem(pattern: string): string | undefined {
  const size = patternSize(pattern);
  if (size <= Math.max(maxPatternSize, pattern.length)) return undefined;
  return `Regular expression is too large: its repetitions make about ${size} instructions; the limit is ${maxPatternSize}`;
}

/** A group that is being read: its size so far, that of its last piece, which a repetition may follow, and that of the group itself. */
type Group = { size: number; last: number; readonly own: number };

/**
 * The pieces of an RE2 pattern: quotations, classes, escapes, groups' openings, repetitions, single characters. What is in braces ends at
 * the first character of no name: read up to a brace that never comes, each of many would be read to the end of the pattern.
 */
const piece =
  /\\Q[\s\S]*?(?:\\E|$)|\\[pP](?:\{\^?\w*\}|[\s\S])|\\x\{\w*\}|\\[\s\S]|\[\^?\]?(?:\\[\s\S]|\[:\^?\w+:\]|[^\]\\])*(?:\]|\\?$)|\((?:\?(?:P?<\w*>|[a-zA-Z-]*:|[a-zA-Z-]+(?=\))|))?|\{\d+(?:,\d*)?\}|[\s\S]/gu;

/** A range in a class that ends beyond ASCII, or may. */
const farRange = /-(?:[^\0-\x7f\]]|\\[xp])/gu;

/** Instructions that a named class counts for: it stands for many ranges of characters. */
const namedClassSize = 50;
/** RE2 finds the other case of each character of a range one after another. */
const foldedRangeSize = 1000;

/**
 * Estimates how many instructions RE2 makes of a pattern, from its text alone: nothing is compiled. Counts too many rather than too
 * few; a pattern that RE2 refuses has a size too.
 */
export function patternSize(pattern: string): number {
  const isFolded = /\(\?[a-zA-Z]*i/.test(pattern);
  const open: Group[] = [];
  let group: Group = { size: 0, last: 0, own: 0 };
  const add = (size: number): void => {
    group.size += size;
    group.last = size;
  };
  const repeat = (times: number, optional: number): void => {
    const size = Math.min(group.last * times + (group.last + 1) * optional, Number.MAX_SAFE_INTEGER);
    group.size += size - group.last;
    group.last = size;
  };
  for (const [text] of pattern.matchAll(piece)) {
    if (text.startsWith('\\Q')) add(Math.max(1, text.length - 4));
    else if (text.startsWith('[')) add(classSize(text, isFolded));
    else if (/^\\[pP]/.test(text)) add(namedClassSize);
    else if (text.startsWith('(')) {
      open.push(group);
      group = { size: 0, last: 0, own: text === '(' || text.includes('<') ? 2 : 0 };
    } else if (text === ')') {
      const { size, own } = group;
      group = open.pop() ?? { size: 0, last: 0, own: 0 };
      add(size + own);
    } else if (text === '|') add(1);
    else if (text === '*' || text === '?' || text === '+') repeat(0, 1);
    else if (text.startsWith('{') && text.length > 1) {
      const [from = 0, to = from] = text.slice(1, -1).split(',').map(Number);
      // `{3,}` reads as `{2}` and a loop.
      if (to === 0) repeat(Math.max(0, from - 1), 1);
      else repeat(from, Math.max(0, to - from));
    } else add(1);
  }
  while (open.length > 0) {
    const { size } = group;
    group = open.pop()!;
    add(size);
  }
  return group.size;
}

function classSize(text: string, isFolded: boolean): number {
  const named = text.match(/\\[pP]/g)?.length ?? 0;
  const folded = isFolded ? (text.match(farRange)?.length ?? 0) : 0;
  return 1 + named * namedClassSize + folded * foldedRangeSize;
}

/**
 * Compiles a regular expression.
 * @throws RE2JSSyntaxException if it is none, also with a class that only RE2JS knows, such as `\p{Emoji}`: RE2 has general categories and
 * scripts, each by one name ([syntax](https://github.com/google/re2/wiki/Syntax))
 */
export function compilePattern(pattern: string): RE2JS {
  for (const [text, name] of pattern.matchAll(quotationOrEscape)) {
    if (name !== undefined && !isClassOfRe2(name))
      throw new RE2JSSyntaxException('invalid character class range', text);
  }
  return RE2JS.compile(pattern);
}

/** A quotation, a class with its name in braces, or another escape; as for the size of a pattern, a name ends at the first character of none. */
const quotationOrEscape = /\\Q[\s\S]*?(?:\\E|$)|\\[pP]\{\^?(\w*)\}|\\[\s\S]/gu;

const category = /^(?:Any|C[cfos]?|L[lmotu]?|M[cen]?|N[dlo]?|P[cdefios]?|S[ckmo]?|Z[lps]?)$/;

function isClassOfRe2(name: string): boolean {
  return category.test(name) || isScript(name);
}

function isScript(name: string): boolean {
  if (name === 'Unknown') return false;
  try {
    new RegExp(`\\p{Script=${name}}`, 'u');
    return true;
  } catch {
    return false;
  }
}
