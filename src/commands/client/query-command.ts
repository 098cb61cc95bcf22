import { setTimeout as sleep } from 'node:timers/promises';
import { GatewayError } from '../../base/errors.ts';
import { didYouMean } from '../../base/nearest-name.ts';
import { formatNames, type RowFormat } from '../../formats/row-formats.ts';
import { refuseUnknown, UsageError, valuesOf } from '../command-line.ts';
import { printable } from '../printable.ts';
import { chartText } from './print-chart.ts';
import { type Screen, tableText } from './print-table.ts';
import { reachGateway } from './reach-gateway.ts';
import { type QueryArguments, readQueryArguments } from './read-arguments.ts';
import { readTable } from './read-table.ts';

/** The output of the command, and its environment. */
export type QueryDeps = {
  readonly environment: NodeJS.ProcessEnv;
  /** Resolves when more may be written. */
  readonly out: { write(text: string | Uint8Array): unknown };
  readonly note: (line: string) => void;
  /** The terminal; undefined if the output is not one. */
  readonly screen: Screen | undefined;
  /** Ends `--watch`. */
  readonly signal: AbortSignal;
};

/** Formats for people, besides those of the gateway. */
const ownFormats = ['table', 'chart'] as const;
type ShownFormat = RowFormat | (typeof ownFormats)[number];

export const shownFormats: readonly ShownFormat[] = [...ownFormats, ...formatNames];

/**
 * Runs `query <endpoint>`: asks a gateway, or opens one in this process, and prints the rows.
 * @returns false if the signal ended it half-way; ending `--watch` by the signal is success
 * @throws UsageError, GatewayError
 */
export async function runQueryCommand(deps: QueryDeps, args: readonly string[]): Promise<boolean> {
  const asked = readQueryArguments(args);
  const format = readFormat(asked.format, deps.screen);
  const gateway = await reachGateway(deps.environment, asked, deps.note);
  try {
    await refuseMistyped(gateway, asked, deps.signal);
    let tag = await printOnce(deps, gateway, { ...asked, format, tag: undefined });
    if (asked.everySeconds === undefined) return true;
    for (;;) {
      await sleep(asked.everySeconds * 1000, undefined, { signal: deps.signal }).catch(() => undefined);
      if (deps.signal.aborted) return true;
      tag = await printOnce(deps, gateway, { ...asked, format, tag }).catch(error => {
        // For example a gateway that restarts is back a little later.
        if (deps.signal.aborted || !mayPass(error)) throw error;
        deps.note(error.message);
        return tag;
      });
    }
  } catch (error) {
    if (!deps.signal.aborted) throw error;
    return asked.everySeconds !== undefined;
  } finally {
    await gateway.close();
  }
}

/** Whether the same request may succeed later. */
const mayPass = (error: unknown): error is GatewayError =>
  error instanceof GatewayError && (error.status === 429 || error.status >= 500);

/**
 * Asks the gateway which parameters the saved query takes, and refuses others. If it does not tell, the query itself runs and reports why.
 * @throws UsageError
 */
async function refuseMistyped(
  { url, token }: { readonly url: string; readonly token: string },
  { endpoint, parameters }: Pick<QueryArguments, 'endpoint' | 'parameters'>,
  signal: AbortSignal,
): Promise<void> {
  const given = parameters.flatMap(([name]) => (name === 'sql' ? [] : [name]));
  if (given.length === 0) return;
  const listed = await fetch(`${url}/api/endpoints/${encodeURIComponent(endpoint)}`, {
    headers: { authorization: `Bearer ${token}` },
    signal,
  })
    .then(async response => (response.ok ? await response.json() : undefined))
    .catch(() => undefined);
  // Something other than a gateway may answer anything.
  if (Array.isArray(listed?.parameters))
    refuseUnknown({ name: endpoint, parameters: listed.parameters }, given);
}

function readFormat(text: string | undefined, screen: Screen | undefined): ShownFormat {
  if (text === undefined) return screen ? 'table' : 'json';
  const format = shownFormats.find(name => name === text);
  if (format) return format;
  throw new UsageError(
    `--format is ${JSON.stringify(text)}; allowed: ${shownFormats.join(', ')}${didYouMean(text, shownFormats)}`,
  );
}

type Asking = Pick<QueryArguments, 'endpoint' | 'parameters' | 'everySeconds'> & {
  readonly format: ShownFormat;
  /** The ETag of the rows shown so far. */
  readonly tag: string | undefined;
};

/** @returns the ETag of the rows shown now */
async function printOnce(
  { out, note, screen, signal }: QueryDeps,
  { url, token }: { readonly url: string; readonly token: string },
  { endpoint, parameters, format, tag, everySeconds }: Asking,
): Promise<string | undefined> {
  const isForPeople = format === 'table' || format === 'chart';
  const path = `/api/endpoints/query/${encodeURIComponent(endpoint)}`;
  const request = { parameters, format: isForPeople ? 'arrow' : format };
  const headers = { authorization: `Bearer ${token}`, ...(tag && { 'if-none-match': tag }) };
  const response = await send(url + path, request, { headers, signal }).catch(error => {
    throw signal.aborted ? error : unreachable(url, error);
  });
  if (response.status === 304) return tag;
  try {
    // JSON is short enough to be read as a whole first: with COMPAT=logflare a failed query may be a 200.
    const isJson = response.headers.get('content-type')?.startsWith('application/json');
    const text = isJson ? await response.text() : undefined;
    if (!response.ok || text?.startsWith('{"error"')) throw failureOf(response, text ?? '');
    if (text !== undefined) await out.write(`${text}\n`);
    else if (isForPeople) {
      const arrow = new Uint8Array(await response.arrayBuffer());
      const shown = textFor(format, arrow, screen ?? { width: 120, hasColour: false });
      if (everySeconds !== undefined && screen) out.write('\u001b[2J\u001b[H');
      await out.write(shown);
    } else for await (const part of response.body ?? []) await out.write(part);
  } catch (error) {
    // For an answer that breaks off, fetch throws `terminated`.
    throw error instanceof TypeError && !signal.aborted ? unreachable(url, error) : error;
  }
  if (response.headers.get('result-truncated') === '?1') {
    note(`There are more rows; an answer has at most ${response.headers.get('result-max-rows')}.`);
  }
  return response.headers.get('etag') ?? undefined;
}

/** Maximum characters of a URL; less than a gateway's own limit, because proxies in between may have lower ones. */
const maxUrlLength = 60_000;

/** Sends parameters in the URL, which caches know, or long ones, as SQL may be, in a body. */
function send(
  path: string,
  { parameters, format }: Pick<QueryArguments, 'parameters'> & { readonly format: string },
  { headers, signal }: { readonly headers: Record<string, string>; readonly signal: AbortSignal },
): Promise<Response> {
  const inUrl = (pairs: typeof parameters) =>
    `${path}?${new URLSearchParams([...pairs, ['format', format]].map(([name = '', value = '']) => [name, value]))}`;
  const url = inUrl(parameters);
  if (url.length <= maxUrlLength) return fetch(url, { headers, signal });
  return fetch(inUrl([]), {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(valuesOf(parameters)),
    signal,
  });
}

function textFor(format: 'table' | 'chart', arrow: Uint8Array, screen: Screen): string {
  const columns = readTable(arrow);
  if (format === 'table') return tableText(columns, screen);
  const chart = chartText(columns, screen);
  if (chart !== undefined) return chart;
  throw new GatewayError(
    'invalid_query',
    'No column holds numbers: there is nothing to draw; --format table shows the rows',
  );
}

/** The error for a failed connection; fetch has the reason in `cause`. */
function unreachable(url: string, error: unknown): GatewayError {
  const { cause, message } = error as Error; // of fetch
  const { code, message: why } = (cause ?? {}) as NodeJS.ErrnoException; // each may be missing
  return new GatewayError('unavailable', `${url} did not answer: ${why || code || message}`);
}

/** The gateway's own message; something else may have answered in its place. */
function failureOf(response: Response, text: string): GatewayError {
  try {
    const { code, message } = JSON.parse(text).error;
    // The message may quote a row.
    return new GatewayError(code, printable(`${message} (${code})`));
  } catch {
    // With COMPAT=logflare a 401 has neither code nor message.
    if (response.status === 401) {
      return new GatewayError(
        'unauthorized',
        'The gateway refuses the token for this request; with COMPAT=logflare it does not say why',
      );
    }
    return new GatewayError(
      'unavailable',
      `${response.url} answered ${response.status} without an error of ours`,
    );
  }
}
