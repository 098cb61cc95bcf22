/** The labels that the gateway itself gives every query. */
type QueryFacts = {
  readonly endpoint: string;
  readonly tokenId: string;
  /** Absent if the query ran for no particular request. */
  readonly requestId: string | undefined;
};

/**
 * Reads `LF-ENDPOINT-LABELS: key=value,key=value`. Labels serve accounting, not access: a key that is not allowed, or text that
 * is not a pair, is left out and never fails a request. The last of two equal keys wins.
 * @param allowed keys that the endpoint takes
 * @returns values as sent: the warehouse decides which text a label may hold
 */
export function readLabels(
  allowed: readonly string[],
  header: string | undefined,
): Readonly<Record<string, string>> {
  if (header === undefined || allowed.length === 0) return {};
  const labels: Record<string, string> = {};
  for (const pair of header.split(',')) {
    const at = pair.indexOf('=');
    const key = pair.slice(0, Math.max(at, 0)).trim().toLowerCase();
    if (allowed.includes(key)) labels[key] = pair.slice(at + 1).trim();
  }
  return labels;
}

/** The labels of one query: those of the caller, and the gateway's own, which win. */
export function labelsOf(
  callers: Readonly<Record<string, string>>,
  { endpoint, tokenId, requestId }: QueryFacts,
): Readonly<Record<string, string>> {
  const own = { endpoint, token_id: tokenId };
  return { ...callers, ...own, ...(requestId === undefined ? {} : { request_id: requestId }) };
}
