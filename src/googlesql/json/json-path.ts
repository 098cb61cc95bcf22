/** One step of a JSONPath: the name of a member, and the position that it means if the value is an array. */
export type JsonStep = { readonly key: string; readonly index: number | undefined };

/** The spelling of a path: `$."a b"[0]`, or that of the older `JSON_EXTRACT…`, `$['a b'][a]`. */
export type JsonPathMode = 'standard' | 'legacy';

const grammars = {
  standard: {
    step: /\.(?<name>[\p{L}\p{N}_\-:\t\n\f\r ]+)|\[[\t\n\f\r ]*(?<subscript>[\p{N}_-]+)[\t\n\f\r ]*\]|\."(?<quoted>(?:[^\\"]|\\.)*)"/suy,
    quote: '"',
  },
  legacy: {
    step: /\.(?<name>[\p{L}\p{N}_\-:\t\n\f\r ]+)|\[[\t\n\f\r ]*(?<subscript>[\p{L}\p{N}_-]+)[\t\n\f\r ]*\]|\[[\t\n\f\r ]*'(?<quoted>(?:[^\\']|\\.)*)'[\t\n\f\r ]*\]/suy,
    quote: "'",
  },
};

/**
 * Parses a JSONPath. A step does not distinguish objects from arrays: `$.0` is `$[0]`.
 * Source: GoogleSQL, "JSONPath format", and its reference implementation.
 * @throws Error with BigQuery's message
 */
export function parseJsonPath(path: string, mode: JsonPathMode): readonly JsonStep[] {
  if (!path.startsWith('$')) throw new Error("JSONPath must start with '$'");
  const { step, quote } = grammars[mode];
  const end = mode === 'legacy' && path.endsWith('.') ? path.length - 1 : path.length;
  const steps: JsonStep[] = [];
  for (let at = 1; at < end; at = step.lastIndex) {
    step.lastIndex = at;
    const found = step.exec(path)?.groups;
    if (!found) throw new Error(refusal(path.slice(at)));
    const { name, subscript, quoted } = found;
    const key = name ?? subscript ?? quoted!.replaceAll(`\\${quote}`, quote);
    steps.push({ key, index: indexOf(key) });
  }
  return steps;
}

function refusal(rest: string): string {
  const operator = /\*|\.\.|@/.exec(rest)?.[0];
  return operator ? `Unsupported operator in JSONPath: ${operator}` : `Invalid token in JSONPath at: ${rest}`;
}

/** The position at the start of a name, as C's `%u` reads it: 32 bits; a number beyond 64 bits is the largest. */
function indexOf(key: string): number | undefined {
  const [, sign, digits] = /^[\t-\r ]*([+-]?)0*(\d+)/.exec(key) ?? [];
  if (digits === undefined) return undefined;
  const number = BigInt(digits.slice(0, 21));
  if (number >= 2n ** 64n) return 0xffff_ffff;
  return Number(BigInt.asUintN(32, sign === '-' ? -number : number));
}

/** The syntax of `standard`, with names and positions distinguished. */
const strictStep =
  /\.(?<name>[\p{L}\p{N}_\-:\t\n\f\r ]+)|\[[\t\n\f\r ]*(?<subscript>\d+)[\t\n\f\r ]*\]|\."(?<quoted>(?:[^\\"]|\\.)*)"/suy;

/**
 * Reads the JSONPath of a function that changes a value: names of members as texts, positions as numbers.
 * @throws Error with BigQuery's message
 */
export function parseStrictPath(path: string): readonly (string | number)[] {
  if (!path.startsWith('$')) throw new Error("JSONPath must start with '$'");
  const steps: (string | number)[] = [];
  for (let at = 1; at < path.length; at = strictStep.lastIndex) {
    strictStep.lastIndex = at;
    const found = strictStep.exec(path)?.groups;
    if (!found) throw new Error(`Invalid token in JSONPath at: ${path.slice(at)}`);
    const { name, subscript, quoted } = found;
    // A position beyond every array is refused when it is used.
    steps.push(subscript === undefined ? (name ?? quoted!) : Math.min(Number(subscript), 2 ** 32));
  }
  return steps;
}
