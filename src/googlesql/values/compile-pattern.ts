import { RE2JS, RE2JSSyntaxException } from 're2js';

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
