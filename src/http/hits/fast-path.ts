import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { LRUCache } from 'lru-cache';
import { callerHeadersKey } from '../../http-messages/caller-headers.ts';
import { renderHead, useRenderedHead } from '../../http-messages/rendered-head.ts';
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
 * The fast path of hits: a request in the same words as an earlier one is answered without being read, routed or planned, while
 * the handler's `Repeat` confirms that its rows are the same. Decision 16 has the figures: without it a hit costs twice as much.
 */
export type FastPath = {
  /**
   * Sends the response to an earlier request in the same words.
   * @param key of its words
   * @param confirmedSinceMs when `confirm` was asked, as performance.now(), where it has said yes
   * @returns false if the request has to be handled
   */
  answer(incoming: Incoming, key: string, confirmedSinceMs?: number): boolean;
  /**
   * The response to a request, unless it has to be handled.
   * @param asked.ifNoneMatch the request's header
   * @param asked.confirmedSinceMs as for `answer`
   */
  find(key: string, asked: Asked): ReadyResponse | undefined;
  /**
   * Asks the store whether the rows for these words are still the same, where the memory of this process does not have them.
   * @returns undefined for words that are not remembered
   */
  confirm(key: string): Promise<boolean> | undefined;
  /** Remembers how to answer the next request in the same words. */
  remember(request: IncomingMessage, body: Buffer | undefined, repeat: Repeat): void;
};

type Asked = {
  readonly requestId: string;
  readonly ifNoneMatch: string | undefined;
  readonly confirmedSinceMs?: number | undefined;
};

/** A response that lies ready. */
export type ReadyResponse = Omit<Answered, 'method'> & {
  /** Status line and headers, but for those of the connection. */
  readonly head: string;
  /** The start of a long body, or all of it. */
  readonly start?: Buffer | undefined;
  /** The bytes of the body, or of what follows its start, as latin1. */
  readonly text: string;
};

type Remembered = {
  readonly repeat: Repeat;
  /** Of the request, without query string. */
  readonly path: string;
  readonly origin: string | undefined;
  /** The headers that the heads were made of. */
  headers: Readonly<OutgoingHttpHeaders> | undefined;
  head: string;
  /** The head of a 304; absent until one is asked for. */
  unmodifiedHead: string | undefined;
};

/** Bytes of everything remembered, the texts of the requests included. */
const maxBytes = 48 * 1024 * 1024;

/** Bytes of an entry beside its texts: a plan, headers, list links. */
const overheadBytes = 2048;

/** Makes a fast path that remembers nothing yet. */
export function createFastPath(deps: SendDeps): FastPath {
  const all = new LRUCache<string, Remembered>({
    maxSize: maxBytes,
    sizeCalculation: ({ repeat }, key) => overheadBytes + key.length + repeat.bytes,
  });

  function find(key: string, { requestId, ifNoneMatch, confirmedSinceMs }: Asked): ReadyResponse | undefined {
    const found = all.get(key);
    const again = found?.repeat.again(requestId, confirmedSinceMs);
    if (!found || !again) return undefined;
    const { headers, timing, start, text } = again;
    const { path, repeat } = found;
    const { facts } = repeat;
    if (found.headers !== headers) {
      found.headers = headers;
      found.head = renderHead(200, withCommon(deps, found.origin, headers));
      found.unmodifiedHead = undefined;
    }
    let own = `x-request-id: ${requestId}\r\n`;
    if (timing !== undefined) own += `server-timing: ${timing}\r\n`;
    if (isNotModified(ifNoneMatch, headers.etag)) {
      found.unmodifiedHead ??= renderHead(304, withCommon(deps, found.origin, withoutContent(headers)));
      return { status: 304, path, facts, head: found.unmodifiedHead + own, text: '', bytes: 0 };
    }
    const bytes = (start?.length ?? 0) + text.length;
    const head = `${found.head}${own}content-length: ${bytes}\r\n`;
    return { status: 200, path, facts, head, start, text, bytes };
  }

  return {
    find,
    confirm: key => all.get(key)?.repeat.confirm(),
    answer(incoming, key, confirmedSinceMs) {
      const { request, response, requestId } = incoming;
      // The response may be the last of its connection.
      if (!response.shouldKeepAlive) return false;
      const ifNoneMatch = request.headers['if-none-match'];
      const ready = find(key, { requestId, ifNoneMatch, confirmedSinceMs });
      if (!ready) return false;
      response.statusCode = ready.status;
      useRenderedHead(response, ready.head);
      // What is written in one turn leaves in one system call; a latin1 string is even joined to the headers.
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

/** All of a request that its response depends on; undefined where the request has to be read each time. */
export function requestKey(request: IncomingMessage, body?: Buffer): string | undefined {
  const { method, url, headers } = request;
  if (body === undefined && (hasBody(request) || (method !== 'GET' && method !== 'HEAD'))) return undefined;
  const head = `${method}\n${url}\n${callerHeadersKey(headers)}\n${headers['accept-encoding']}\n${headers.origin}`;
  return body === undefined ? head : `${head}\n${headers['content-type']}\n${body.toString('latin1')}`;
}
