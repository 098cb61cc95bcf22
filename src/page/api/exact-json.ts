/** As it is now: the page of the API replaces it. */
const { parse } = JSON;

/** Parses JSON; an integer beyond 2^53 becomes a BigInt, so that all its digits are shown. */
export function parseExactJson(text: string): unknown {
  // Few answers hold such a number, and a reviver takes several times as long as parsing.
  if (!/\d{16}/.test(text)) return parse(text);
  return parse(text, (_key, value, context?: { source?: string }) => {
    const isRounded = typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value);
    const isInteger = isRounded && /^-?\d+$/.test(context?.source ?? '');
    return isInteger ? BigInt(context?.source ?? '') : value;
  });
}

/** Writes a value of `parseExactJson` as JSON again. */
export function writeExactJson(value: unknown, indent?: number): string {
  const raw = (_key: string, inner: unknown) =>
    typeof inner === 'bigint' ? rawJson(inner.toString()) : inner;
  return JSON.stringify(value, raw, indent) ?? '';
}

/** Writes digits unchanged, if the browser supports that; TypeScript does not know the function yet. */
export function rawJson(digits: string): unknown {
  const { rawJSON } = JSON as unknown as { rawJSON?: (text: string) => unknown };
  return rawJSON ? rawJSON(digits) : digits;
}
