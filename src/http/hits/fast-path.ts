import {
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type ServerResponse,
  STATUS_CODES,
  validateHeaderName,
  validateHeaderValue,
} from 'node:http';
import { LRUCache } from 'lru-cache';
import { createTurnBudget } from '../../base/turns.ts';
import { callerHeadersKey } from '../../http-messages/caller-headers.ts';
import { keepAliveMs } from '../../http-messages/http-limits.ts';
import { hasBody, pathOf } from '../../http-messages/request-context.ts';
import {
  type Answered,
  addCommonHeaders,
  type Incoming,
  type Repeat,
  reportAnswered,
  type SendDeps,
} from '../../http-messages/send-response.ts';
import { isNotModified, withoutContent } from '../rows-headers.ts';

/**
 * The fast path of hits: a request identical to an earlier one is answered without being routed or planned, as long as
 * the handler's `Repeat` confirms that its rows are the same. Decision 16 has the figures: without it a hit costs twice as much.
 */
export type FastPath = {
  /**
   * Sends the response to a request identical to an earlier one.
   * @param key of `requestKey`
   * @param confirmedSinceMs if `confirm` resolved to true, when it was called, as `performance.now()`
   * @returns false if the request must be handled
   */
  answer(incoming: Incoming, key: string, confirmedSinceMs?: number): boolean;
  /**
   * Finds the response to a request; undefined if it must be handled.
   * @param asked.ifNoneMatch the request's header
   * @param asked.confirmedSinceMs as for `answer`
   */
  find(key: string, asked: Asked): ReadyResponse | undefined;
  /**
   * Asks the store whether the rows for this key are still the same, for when the memory of this process does not have them. Where the response is
   * long, the answer comes in a turn of the event loop that has time for writing it.
   * @returns undefined for a key that is not remembered
   */
  confirm(key: string): Promise<boolean> | undefined;
  /** Remembers how to answer later identical requests. */
  remember(request: IncomingMessage, body: Buffer | undefined, repeat: Repeat): void;
};

type Asked = {
  readonly requestId: string;
  readonly ifNoneMatch: string | undefined;
  readonly confirmedSinceMs?: number | undefined;
};

/** A response that is ready to be written. */
export type ReadyResponse = Omit<Answered, 'method'> & {
  /** Status line and headers, with the empty line that ends them. */
  readonly head: string;
  /** The start of a long body, or all of it. */
  readonly start?: Buffer | undefined;
  /** The bytes of the body, or the rest after `start`, as latin1. */
  readonly text: string;
};

type Remembered = {
  readonly repeat: Repeat;
  /** The request's path, without query string. */
  readonly path: string;
  readonly origin: string | undefined;
  /** The headers from which `head` and `unmodifiedHead` were rendered. */
  headers: Readonly<OutgoingHttpHeaders> | undefined;
  head: string;
  /** The head of a 304; absent until one is needed. */
  unmodifiedHead: string | undefined;
  /** Whether its last body was a long one. */
  isLong: boolean;
};

/** Maximum bytes of everything remembered, including the texts of the requests. */
const maxBytes = 48 * 1024 * 1024;

/** Milliseconds of one turn of the event loop after which no further long response begins that the store has confirmed. */
const maxTurnMs = 8;

/** Bytes of an entry besides its texts: a plan, headers, list links. */
const overheadBytes = 2048;

/** Makes an empty fast path. */
export function createFastPath(deps: SendDeps): FastPath {
  const all = new LRUCache<string, Remembered>({
    maxSize: maxBytes,
    sizeCalculation: ({ repeat }, key) => overheadBytes + key.length + repeat.bytes,
  });
  const turns = createTurnBudget(maxTurnMs);

  function find(key: string, { requestId, ifNoneMatch, confirmedSinceMs }: Asked): ReadyResponse | undefined {
    const found = all.get(key);
    const again = found?.repeat.again(requestId, confirmedSinceMs);
    if (!found || !again) return undefined;
    const { headers, timing, start, text } = again;
    const { path, repeat } = found;
    const { facts } = repeat;
    found.isLong = start !== undefined;
    if (found.headers !== headers) {
      found.headers = headers;
      found.head = renderHead(200, withCommon(deps, found.origin, headers));
      found.unmodifiedHead = undefined;
    }
    let own = `x-request-id: ${requestId}\r\n`;
    if (timing !== undefined) own += `server-timing: ${timing}\r\n`;
    if (isNotModified(ifNoneMatch, headers.etag)) {
      found.unmodifiedHead ??= renderHead(304, withCommon(deps, found.origin, withoutContent(headers)));
      return { status: 304, path, facts, head: found.unmodifiedHead + own + endOfHead(), text: '', bytes: 0 };
    }
    const bytes = (start?.length ?? 0) + text.length;
    const head = `${found.head}${own}content-length: ${bytes}\r\n${endOfHead()}`;
    return { status: 200, path, facts, head, start, text, bytes };
  }

  return {
    find,
    confirm(key) {
      const found = all.get(key);
      const confirmed = found?.repeat.confirm();
      if (!found?.isLong) return confirmed;
      return confirmed?.then(async isSame => {
        if (turns.isSpent()) await new Promise<void>(turns.wait);
        return isSame;
      });
    },
    answer(incoming, key, confirmedSinceMs) {
      const { request, response, requestId } = incoming;
      // The response may be the last of its connection.
      if (!response.shouldKeepAlive) return false;
      const ifNoneMatch = request.headers['if-none-match'];
      const ready = find(key, { requestId, ifNoneMatch, confirmedSinceMs });
      if (!ready) return false;
      response.statusCode = ready.status;
      useRenderedHead(response, ready.head);
      // Writes of one turn are sent in one system call; a latin1 string is even joined to the headers.
      if (ready.start) response.write(ready.start);
      response.end(ready.text, 'latin1');
      deps.unread.watch(response, ready.facts.tokenId ?? '');
      reportAnswered(deps, incoming, { method: request.method, ...ready });
      return true;
    },
    remember(request, body, repeat) {
      const key = requestKey(request, body);
      if (key === undefined) return;
      all.set(key, {
        repeat,
        path: pathOf(request),
        origin: request.headers.origin,
        headers: undefined,
        head: '',
        unmodifiedHead: undefined,
        isLong: false,
      });
    },
  };
}

function withCommon(
  deps: SendDeps,
  origin: string | undefined,
  own: Readonly<OutgoingHttpHeaders>,
): OutgoingHttpHeaders {
  const headers = { ...own };
  addCommonHeaders(deps, origin, headers);
  return headers;
}

/** A key with everything in a request on which its response depends; undefined if the request must always be handled. */
export function requestKey(request: IncomingMessage, body?: Buffer): string | undefined {
  const { method, url, headers } = request;
  if (body === undefined && (hasBody(request) || (method !== 'GET' && method !== 'HEAD'))) return undefined;
  const head = `${method}\n${url}\n${callerHeadersKey(headers)}\n${headers['accept-encoding']}\n${headers.origin}`;
  return body === undefined ? head : `${head}\n${headers['content-type']}\n${body.toString('latin1')}`;
}

/**
 * Renders a status line and the headers that stay the same.
 * @throws TypeError for a header that HTTP does not allow
 */
function renderHead(status: 200 | 304, headers: Readonly<OutgoingHttpHeaders>): string {
  let head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n`;
  for (const [name, value] of Object.entries(headers)) {
    validateHeaderName(name);
    validateHeaderValue(name, String(value));
    head += `${name}: ${value}\r\n`;
  }
  return head;
}

/**
 * Gives a response on a kept-alive connection its whole head, which is sent with the body's first bytes. `writeHead` would
 * check and join the same headers for each response, a fifth of the time of a hit (decision 16). It stores the joined head in
 * `_header`, a property that Node does not document, in the version of Node that this package pins.
 */
function useRenderedHead(response: ServerResponse, head: string): void {
  const kept = response as unknown as { _header: string };
  kept._header = head;
}

let second = Number.NaN;
let end = '';

/** The end of a head: the headers of a kept-alive connection, and the date (RFC 9110, section 5.6.7). */
function endOfHead(): string {
  const now = Math.trunc(Date.now() / 1000);
  if (now !== second) {
    second = now;
    const date = new Date(second * 1000).toUTCString();
    end = `Date: ${date}\r\nConnection: keep-alive\r\nKeep-Alive: timeout=${keepAliveMs / 1000}\r\n\r\n`;
  }
  return end;
}
