import type { Column, Endpoint, Values } from './catalogue.ts';
import { parseExactJson, writeExactJson } from './exact-json.ts';
import { Problem, problemIn } from './problem.ts';

/** A parsed row; integers beyond 2^53 are BigInts. */
export type Row = Readonly<Record<string, unknown>>;

/** Facts about an answer, from its headers. */
export type Facts = {
  /** `HIT`, `MISS`, `STALE` or `BYPASS`. */
  readonly cache: string;
  readonly ageSeconds: number | undefined;
  /** Milliseconds from sending the request to having the rows. */
  readonly ms: number;
  readonly bytes: number;
  /** Rows were cut at this many. */
  readonly cutAt: number | undefined;
  /** `Query-Receipt`; absent if the query cost nothing, or its cost is unknown. */
  readonly receipt: string | undefined;
  readonly timing: string | undefined;
  readonly requestId: string | undefined;
};

export type Answer = { readonly rows: readonly Row[]; readonly facts: Facts };

/** The front-end's verdict about SQL, without running it. */
export type Verdict = { readonly columns: readonly Column[] } | { readonly problem: Problem };

/** A gateway's words, types and functions, for the editor. */
export type Dialect = {
  readonly keywords: readonly string[];
  readonly types: readonly string[];
  readonly functions: readonly DialectFunction[];
};

export type DialectFunction = {
  readonly name: string;
  readonly signatures: readonly string[];
  readonly kind: 'scalar' | 'aggregate' | 'window';
};

/** The token and values for a first visit on the gateway's own machine. */
export type Sample = { readonly token?: string; readonly parameters?: Values };

export type Client = {
  endpoints(): Promise<readonly Endpoint[]>;
  /**
   * Runs a saved query.
   * @param isFresh whether to bypass the gateway's cache
   * @throws Problem
   */
  run(endpoint: Endpoint, values: Values, signal: AbortSignal, isFresh: boolean): Promise<Answer>;
  /** @throws Problem for anything but a verdict */
  check(endpoint: Endpoint, values: Values, signal: AbortSignal): Promise<Verdict>;
  dialect(): Promise<Dialect>;
  /** The OpenAPI document, whose numbers are those of JSON.parse: Swagger UI takes no BigInt. @throws Problem */
  document(): Promise<unknown>;
};

/** Speaks with the gateway that served the page. */
export function createClient(token: string): Client {
  const headers = { 'x-api-key': token, accept: 'application/json' };

  async function ask(path: string, init: RequestInit = {}) {
    const response = await reach(path, { ...init, headers: { ...headers, ...init.headers } });
    const text = await response.text();
    const body = parse(text);
    const problem = problemIn(body, response);
    if (problem) throw problem;
    return { response, body, bytes: new Blob([text]).size };
  }

  // With `no-store`, the browser's `Cache-Control` bypasses the gateway's cache, too.
  const post = (path: string, body: object, signal: AbortSignal, cache: RequestCache = 'default') =>
    ask(path, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json' },
      signal,
      cache,
    });

  return {
    // The gateway's own answers are trusted to have the form that its documentation gives them.
    endpoints: async () => ((await ask('/api/endpoints')).body as { endpoints: Endpoint[] }).endpoints,
    async run(endpoint, values, signal, isFresh) {
      const startedMs = performance.now();
      const { response, body, bytes } = await post(
        endpoint.path,
        values,
        signal,
        isFresh ? 'no-store' : 'default',
      );
      const { result } = body as { result: Row[] };
      return { rows: result, facts: factsOf(response, performance.now() - startedMs, bytes) };
    },
    async check(endpoint, values, signal) {
      const path = `/api/endpoints/${encodeURIComponent(endpoint.name)}/check`;
      try {
        const { body } = await post(path, values, signal);
        return { columns: (body as { columns: Column[] }).columns };
      } catch (error) {
        // An error in the text is a regular verdict.
        const isVerdict =
          error instanceof Problem && ['invalid_query', 'sandbox_refused'].includes(error.code);
        if (isVerdict) return { problem: error };
        throw error;
      }
    },
    dialect: async () => (await ask('/api/dialect')).body as Dialect,
    document: async () => JSON.parse(writeExactJson((await ask('/openapi.json')).body)),
  };
}

/** Asks for the token that a first visit on the gateway's own machine may have; any failure means that there is none. */
export async function readSample(): Promise<Sample> {
  try {
    // Without options, so that the page's preload is used; the answer itself forbids storing it.
    const response = await fetch('/api/sample');
    return response.ok ? await response.json() : {};
  } catch {
    return {};
  }
}

/** Whether the gateway serves GraphiQL, as its root says to programs. */
export async function hasGraphiql(): Promise<boolean> {
  try {
    const response = await fetch('/', { headers: { accept: 'application/json' } });
    return 'graphiql' in (await response.json());
  } catch {
    return false;
  }
}

/** @throws Problem if the gateway does not answer; DOMException if the caller aborted */
async function reach(path: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(path, { cache: 'no-store', ...init, credentials: 'omit' });
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new Problem('The gateway does not answer. It may be stopped, or restarting.', {});
  }
}

function parse(text: string): unknown {
  try {
    return parseExactJson(text);
  } catch {
    return { error: { code: 'not_json', message: 'The answer is not JSON: is there a proxy in between?' } };
  }
}

function factsOf({ headers }: Response, ms: number, bytes: number): Facts {
  const text = (name: string) => headers.get(name) ?? undefined;
  const age = text('age');
  const isCut = text('result-truncated') === '?1';
  return {
    cache: text('x-cache') ?? 'BYPASS',
    ageSeconds: age === undefined ? undefined : Number(age),
    ms,
    bytes,
    cutAt: isCut ? Number(text('result-max-rows')) : undefined,
    receipt: text('query-receipt'),
    timing: text('server-timing'),
    requestId: text('x-request-id'),
  };
}
