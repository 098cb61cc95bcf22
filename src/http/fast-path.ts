import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { LRUCache } from 'lru-cache';
import { callerHeadersKey } from '../http-messages/caller-headers.ts';
import { renderHead, useRenderedHead } from '../http-messages/rendered-head.ts';
import { hasBody, pathOf } from '../http-messages/request-context.ts';
import {
  addCommonHeaders,
  type Incoming,
  type Repeat,
  reportAnswered,
  type SendDeps,
} from '../http-messages/send-response.ts';
import { isNotModified, withoutContent } from './rows-headers.ts';

/**
 * The fast path of hits: a request in the same words as an earlier one is answered without being read, routed or planned, while
 * the handler's `Repeat` confirms that its rows are the same. Decision 16 has the figures: without it a hit costs twice as much.
 */
export type FastPath = {
  /**
   * Sends the response to an earlier request in the same words.
   * @param body the bytes of the request's body, where it has one and it was read
   * @returns false if the request has to be handled
   */
  answer(incoming: Incoming, body?: Buffer): boolean;
  /** Remembers how to answer the next request in the same words. */
  remember(request: IncomingMessage, body: Buffer | undefined, repeat: Repeat): void;
};

type Remembered = {
  readonly repeat: Repeat;
  /** Of the request, without query string. */
  readonly path: string;
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

  return {
    answer(incoming, body) {
      const { request, response, requestId } = incoming;
      // The response may be the last of its connection.
      if (!response.shouldKeepAlive) return false;
      const key = requestKey(request, body);
      const found = key === undefined ? undefined : all.get(key);
      const again = found?.repeat.again(requestId);
      if (!found || !again) return false;
      const { headers, timing, start, text } = again;
      const { path, repeat } = found;
      const { facts } = repeat;
      if (found.headers !== headers) {
        found.headers = headers;
        found.head = renderHead(200, withCommon(deps, request, headers));
        found.unmodifiedHead = undefined;
      }
      let own = `x-request-id: ${requestId}\r\n`;
      if (timing !== undefined) own += `server-timing: ${timing}\r\n`;
      if (isNotModified(request.headers['if-none-match'], headers.etag)) {
        found.unmodifiedHead ??= renderHead(304, withCommon(deps, request, withoutContent(headers)));
        response.statusCode = 304;
        useRenderedHead(response, found.unmodifiedHead, own);
        response.end();
        reportAnswered(deps, incoming, { path, status: 304, bytes: 0, facts });
        return true;
      }
      const bytes = (start?.length ?? 0) + text.length;
      useRenderedHead(response, found.head, `${own}content-length: ${bytes}\r\n`);
      // What is written in one turn leaves in one system call; a latin1 string is even joined to the headers.
      if (start) response.write(start);
      response.end(text, 'latin1');
      deps.unread.watch(response);
      reportAnswered(deps, incoming, { path, status: 200, bytes, facts });
      return true;
    },
    remember(request, body, repeat) {
      const key = requestKey(request, body);
      if (key === undefined) return;
      all.set(key, {
        repeat,
        path: pathOf(request),
        headers: undefined,
        head: '',
        unmodifiedHead: undefined,
      });
    },
  };
}

function withCommon(
  deps: SendDeps,
  request: IncomingMessage,
  own: Readonly<OutgoingHttpHeaders>,
): OutgoingHttpHeaders {
  const headers = { ...own };
  addCommonHeaders(deps, request, headers);
  return headers;
}

/** All of a request that its response depends on; undefined where the request has to be read each time. */
export function requestKey(request: IncomingMessage, body?: Buffer): string | undefined {
  const { method, url, headers } = request;
  if (body === undefined && (hasBody(request) || (method !== 'GET' && method !== 'HEAD'))) return undefined;
  const head = `${method}\n${url}\n${callerHeadersKey(headers)}\n${headers['accept-encoding']}\n${headers.origin}`;
  return body === undefined ? head : `${head}\n${headers['content-type']}\n${body.toString('latin1')}`;
}
