import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { LRUCache } from 'lru-cache';
import { endOfHead } from '../../http-messages/rendered-head.ts';
import { type Incoming, reportAnswered, type SendDeps } from '../../http-messages/send-response.ts';
import type { FastPath, ReadyResponse } from './fast-path.ts';

/**
 * Answers requests before they are parsed: those whose bytes are, one by one, the bytes of an earlier request that the fast path has
 * answered. To parse a request, and to have a response object for it, takes Node longer than to write the answer (decision 106).
 */
export type RepeatedBytes = {
  /** Looks at what comes on a new connection before the parser does. */
  watch(socket: Socket): void;
  /** Notes that the parser has found a request. */
  begin(request: IncomingMessage): void;
  /**
   * Remembers the bytes of a request.
   * @param key by which the fast path has answered it
   */
  remember(incoming: Incoming, key: string): void;
  /** From now on everything is parsed. */
  stop(): void;
};

type Deps = SendDeps & { readonly beginRepeated: (socket: Socket) => boolean };

/** What is parsed on a connection. */
type Parsed = {
  /**
   * Bytes of the present request that are still to come: at 0 the next byte is the first of a request. NaN: what comes next is not known any
   * longer, since a head came in parts, a body in chunks, or two requests at once.
   */
  awaited: number;
  /** The requests that were found in the bytes that came last, and the latest of them. */
  found: number;
  request: IncomingMessage | undefined;
  /** The bytes that came last, where they are one whole request. */
  whole: Buffer | undefined;
  /** How they were answered. */
  answered: Known | undefined;
};

/** What is known of bytes. */
type Known = {
  /** For the fast path. */
  readonly key: string;
  readonly method: string | undefined;
  readonly ifNoneMatch: string | undefined;
};

/** Bytes of a request that is remembered, body included. */
const maxRequestBytes = 16 * 1024;

/** Bytes of all requests that are remembered. */
const maxBytes = 16 * 1024 * 1024;

/** Bytes of an entry beside its texts. */
const overheadBytes = 512;

const headEnd = '\r\n\r\n';

/** Remembers nothing yet. */
export function createRepeatedBytes(deps: Deps, fastPath: Pick<FastPath, 'find'>): RepeatedBytes {
  const all = new LRUCache<string, Known>({
    maxSize: maxBytes,
    sizeCalculation: ({ key }, bytes) => overheadBytes + bytes.length + key.length,
  });
  const connections = new WeakMap<Socket, Parsed>();
  let isStopped = false;

  /** @returns false if the bytes have to be parsed */
  function answer(socket: Socket, bytes: Buffer): boolean {
    if (isStopped || bytes.length > maxRequestBytes) return false;
    const startedMs = performance.now();
    const known = all.get(bytes.toString('latin1'));
    if (!known || !deps.beginRepeated(socket)) return false;
    const requestId = randomUUID();
    const ready = fastPath.find(known.key, requestId, known.ifNoneMatch);
    if (!ready) return false;
    write(socket, ready);
    deps.unread.watch(socket);
    reportAnswered(deps, { requestId, startedMs, traceId: undefined }, { method: known.method, ...ready });
    return true;
  }

  function keep({ whole, answered }: Parsed): void {
    if (whole && answered) all.set(whole.toString('latin1'), answered);
  }

  return {
    watch(socket) {
      const parsed: Parsed = {
        awaited: 0,
        found: 0,
        request: undefined,
        whole: undefined,
        answered: undefined,
      };
      connections.set(socket, parsed);
      const parse = socket.listeners('data')[0] as (bytes: Buffer) => void; // that of node:http
      socket.on('data', (bytes: Buffer) => {
        if (parsed.awaited === 0 && answer(socket, bytes)) return;
        const isStart = parsed.awaited === 0;
        parsed.found = 0;
        parsed.request = parsed.whole = parsed.answered = undefined;
        parse(bytes);
        const length = isStart ? lengthOf(bytes, parsed) : parsed.awaited;
        parsed.awaited = length >= bytes.length ? length - bytes.length : Number.NaN;
        if (isStart && parsed.awaited === 0 && bytes.length <= maxRequestBytes) parsed.whole = bytes;
        keep(parsed);
      });
      socket.off('data', parse);
    },
    begin(request) {
      const parsed = connections.get(request.socket);
      if (!parsed) return;
      parsed.found++;
      parsed.request = request;
    },
    remember({ request, traceId, span }, key) {
      const { method, headers, socket } = request;
      const parsed = connections.get(socket);
      if (parsed?.request !== request || method === 'HEAD') return;
      // These differ from request to request.
      if (span || traceId !== undefined || headers['x-request-id'] !== undefined) return;
      parsed.answered = { key, method, ifNoneMatch: headers['if-none-match'] };
      keep(parsed);
    },
    stop() {
      isStopped = true;
    },
  };
}

/** Bytes of the request that these bytes begin; NaN if they are not its whole head, or more than one request was found. */
function lengthOf(bytes: Buffer, { found, request }: Parsed): number {
  const end = bytes.indexOf(headEnd);
  if (!request || found !== 1 || end < 0) return Number.NaN;
  const { 'transfer-encoding': coding, 'content-length': length = 0 } = request.headers;
  return coding === undefined ? end + headEnd.length + Number(length) : Number.NaN;
}

/** What is written in one turn leaves in one system call. */
function write(socket: Socket, { head, start, text }: ReadyResponse): void {
  if (!start) {
    socket.write(head + endOfHead() + text, 'latin1');
    return;
  }
  socket.cork();
  socket.write(head + endOfHead(), 'latin1');
  socket.write(start);
  socket.write(text, 'latin1');
  socket.uncork();
}
