/** Facts for the log line of a request besides its HTTP message; filled in while it is answered. */
export type RequestFacts = {
  /** Names of the saved queries that it read, comma-separated. */
  endpoint?: string;
  /** Cache states of their rows, comma-separated. */
  cache?: string;
  tokenId?: string;
  rows?: number;
  /** The id of the trace that it belongs to. */
  traceId?: string | undefined;
  /** The code of the error with which it was answered; drop-in mode answers several of them alike. */
  code?: string;
};

/** The facts about one requested saved query; `cache` and `rows` once it is answered. */
type EndpointFacts = {
  readonly endpoint: string;
  readonly tokenId: string;
  readonly cache?: string;
  readonly rows?: number;
};

/** Adds the facts about one saved query; a GraphQL operation may read several. */
export function addFacts(facts: RequestFacts, { endpoint, tokenId, cache, rows }: EndpointFacts): void {
  facts.endpoint = withName(facts.endpoint, endpoint);
  facts.tokenId = tokenId;
  if (cache !== undefined) facts.cache = withName(facts.cache, cache);
  if (rows !== undefined) facts.rows = (facts.rows ?? 0) + rows;
}

function withName(names: string | undefined, name: string): string {
  if (names === undefined || names === name) return name;
  return names.split(',').includes(name) ? names : `${names},${name}`;
}
