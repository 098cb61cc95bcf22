import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { LRUCache } from 'lru-cache';
import { errorCodes } from '../../base/errors.ts';
import { createTurnBudget, type TurnBudget } from '../../base/turns.ts';
import { dropInput } from '../../http-messages/answer-raw.ts';
import type { Connections } from '../../http-messages/connections.ts';
import { endOfHead } from '../../http-messages/rendered-head.ts';
import { pathOf } from '../../http-messages/request-context.ts';
import { type Incoming, reportAnswered, type SendDeps } from '../../http-messages/send-response.ts';
import type { FastPath, ReadyResponse } from './fast-path.ts';

/**
 * Answers requests before they are parsed: those whose bytes are, one by one, the bytes of an earlier request that the fast path has
 * answered. To parse a request, and to have a response object for it, takes Node longer than to write the answer (decision 106).
 */
export type RepeatedBytes = {
  /** Looks at what comes on a new connection before the parser does, and lets it wait where a turn of the event loop has had its share. */
  watch(socket: Socket): void;
  /** Notes that the parser has found a request. */
  begin(request: IncomingMessage): void;
  /** Notes that the parser has found a request for another protocol, which is answered as any other: what follows it in the same bytes is lost. */
  beginUpgrade(request: IncomingMessage): void;
  /**
   * Remembers the bytes of a request.
   * @param key by which the fast path has answered it
   */
  remember(incoming: Incoming, key: string): void;
  /** From now on everything is parsed. */
  stop(): void;
};

type Deps = SendDeps & {
  readonly connections: Pick<Connections, 'beginRepeated' | 'inFlight' | 'setWaiting'>;
};

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
  /** Whether bytes that came before wait for the store, or for their turn of the event loop. */
  isWaiting: boolean;
  /** Whether the bytes that come next have waited for their turn. */
  isDue: boolean;
  /** Whether the present request asks for another protocol. */
  isUpgrade: boolean;
};

function nothingParsed(): Parsed {
  const request = undefined;
  const state = { isWaiting: false, isDue: false, isUpgrade: false };
  return { awaited: 0, found: 0, request, whole: undefined, answered: undefined, ...state };
}

/** What is known of bytes. */
type Known = {
  /** For the fast path. */
  readonly key: string;
  readonly method: string | undefined;
  readonly path: string;
  readonly ifNoneMatch: string | undefined;
};

/** Bytes of a request that is remembered, body included. */
const maxRequestBytes = 16 * 1024;

/** Bytes of all requests that are remembered. */
const maxBytes = 16 * 1024 * 1024;

/** Bytes of an entry beside its texts. */
const overheadBytes = 512;

/** Milliseconds of one turn of the event loop in which requests begin. A URL of 72 KiB with thousands of parameters takes twenty; others wait. */
const maxTurnMs = 30;

const headEnd = '\r\n\r\n';

/** Bytes of the shortest head, `GET / HTTP/1.1`, before that end. */
const minHeadBytes = 14;

/** Remembers nothing yet. */
export function createRepeatedBytes(deps: Deps, fastPath: AnsweringPath): RepeatedBytes {
  const all = new LRUCache<string, Known>({
    maxSize: maxBytes,
    sizeCalculation: ({ key }, bytes) => overheadBytes + bytes.length + key.length,
  });
  const connections = new WeakMap<Socket, Parsed>();
  const turns = createTurnBudget(maxTurnMs);
  let isStopped = false;

  /** @returns false if the bytes have to be parsed, now */
  function take(socket: Socket, parsed: Parsed, bytes: Buffer, parse: (bytes: Buffer) => void): boolean {
    if (isStopped || bytes.length > maxRequestBytes) return false;
    const startedMs = performance.now();
    const known = all.get(bytes.toString('latin1'));
    if (!known || !deps.connections.beginRepeated(socket)) return false;
    const arrival = { socket, known, startedMs };
    if (answer(deps, fastPath, arrival, false)) return true;
    const confirmation = fastPath.confirm(known.key);
    if (!confirmation) return false;
    wait(deps, parsed, arrival, confirmation, isConfirmed => {
      if (!isConfirmed || isStopped || !answer(deps, fastPath, arrival, true)) parse(bytes);
    });
    return true;
  }

  function keep({ whole, answered }: Parsed): void {
    if (whole && answered) all.set(whole.toString('latin1'), answered);
  }

  return {
    watch(socket) {
      // That of node:http, which no documentation promises: without it, or beside another one, everything is parsed.
      const [listener, ...others] = socket.listeners('data') as ((bytes: Buffer) => void)[];
      if (!listener || others.length > 0) return;
      const parsed = nothingParsed();
      connections.set(socket, parsed);
      const parser = { socket, listener, turns, connections: deps.connections };
      const parse = (bytes: Buffer) => {
        parseBytes(parser, parsed, bytes);
        keep(parsed);
        if (parsed.isUpgrade && Number.isNaN(parsed.awaited)) endAfterResponse(deps, socket);
        else if (parsed.awaited === 0) parsed.isUpgrade = false;
      };
      socket.on('data', (bytes: Buffer) => {
        const { isDue } = parsed;
        parsed.isDue = false;
        // What is answered by its bytes takes so little that it waits for no share of a turn.
        if (parsed.isWaiting) putBack(socket, bytes);
        else if (parsed.awaited === 0 && take(socket, parsed, bytes, parse)) return;
        else if (!isDue && turns.isSpent()) waitForTurn(parser, parsed, bytes);
        else parse(bytes);
      });
      socket.off('data', listener);
    },
    begin(request) {
      const parsed = connections.get(request.socket);
      if (!parsed) return;
      parsed.found++;
      parsed.request = request;
    },
    beginUpgrade({ socket }) {
      const parsed = connections.get(socket);
      if (parsed) parsed.isUpgrade = true;
    },
    remember({ request, traceId, span }, key) {
      const { method, headers, socket } = request;
      const parsed = connections.get(socket);
      if (parsed?.request !== request || method === 'HEAD') return;
      // These differ from request to request.
      if (span || traceId !== undefined || headers['x-request-id'] !== undefined) return;
      parsed.answered = { key, method, path: pathOf(request), ifNoneMatch: headers['if-none-match'] };
      keep(parsed);
    },
    stop() {
      isStopped = true;
    },
  };
}

/** Lets bytes come again, before all that follows, when the connection reads on. */
function putBack(socket: Socket, bytes: Buffer): void {
  socket.pause();
  socket.unshift(bytes);
}

/** Node's parser of a connection. */
type Parser = {
  readonly socket: Socket;
  readonly listener: (bytes: Buffer) => void;
  readonly turns: TurnBudget;
  readonly connections: Pick<Connections, 'setWaiting'>;
};

/** Puts bytes back, and lets their connection read nothing until its turn. */
function waitForTurn({ socket, turns, connections }: Parser, parsed: Parsed, bytes: Buffer): void {
  putBack(socket, bytes);
  parsed.isWaiting = true;
  connections.setWaiting(socket, true);
  turns.wait(() => {
    parsed.isWaiting = false;
    connections.setWaiting(socket, false);
    parsed.isDue = true;
    socket.resume();
  });
}

/** Gives bytes to the parser, and notes what it found in them. */
function parseBytes(parser: Parser, parsed: Parsed, bytes: Buffer): void {
  const { awaited } = parsed;
  parsed.found = 0;
  parsed.request = parsed.whole = parsed.answered = undefined;
  const isStart = awaited === 0;
  let length = awaited;
  if (awaited >= bytes.length) parser.listener(bytes);
  else if (!parseInPieces(parser, parsed, bytes)) length = Number.NaN;
  else if (isStart) length = lengthOf(bytes, parsed);
  parsed.awaited = length >= bytes.length ? length - bytes.length : Number.NaN;
  if (isStart && parsed.awaited === 0 && bytes.length <= maxRequestBytes) parsed.whole = bytes;
}

/**
 * Gives bytes to the parser request by request: there may be thousands in them. Nobody answers those that follow a refused one, and where other
 * connections wait the next one is theirs.
 * @returns false if some bytes were dropped, or wait
 */
function parseInPieces(parser: Parser, parsed: Parsed, bytes: Buffer): boolean {
  const { socket, listener, turns } = parser;
  for (let at = 0; at < bytes.length; ) {
    const isComplete = parsed.request?.complete;
    // Its input is dropped, and after CONNECT the parser may be another connection's. What follows a request for another protocol is lost.
    if (socket.listenerCount('data') === 0 || (isComplete && parsed.isUpgrade)) return false;
    if (socket.isPaused()) {
      // Earlier responses have to be read first.
      socket.unshift(bytes.subarray(at));
      return false;
    }
    if (isComplete && turns.isSpent()) {
      waitForTurn(parser, parsed, bytes.subarray(at));
      return false;
    }
    const end = endOfPiece(bytes, at);
    listener(bytes.subarray(at, end));
    at = end;
  }
  return true;
}

/** Where the first head ends whose end can be seen, or all bytes if there is no other after it: they are one request, and what belongs to it. */
function endOfPiece(bytes: Buffer, at: number): number {
  const first = bytes.indexOf(headEnd, at + minHeadBytes);
  const next = first < 0 ? first : bytes.indexOf(headEnd, first + minHeadBytes);
  return next < 0 ? bytes.length : first + headEnd.length;
}

/** Ends a connection with the response to its last request. Node's parser has dropped what followed that: it would wait for an answer in vain. */
function endAfterResponse({ connections }: Deps, socket: Socket): void {
  dropInput(socket);
  const last = connections.inFlight(socket);
  if (last && !last.response.headersSent) last.response.shouldKeepAlive = false;
  else socket.destroySoon();
}

type AnsweringPath = Pick<FastPath, 'confirm' | 'find'>;

/** Known bytes that came on a connection. */
type Arrival = {
  readonly socket: Socket;
  readonly known: Known;
  /** As performance.now(). */
  readonly startedMs: number;
};

/** @returns false if the request has to be parsed */
function answer(
  deps: Deps,
  fastPath: AnsweringPath,
  { socket, known, startedMs }: Arrival,
  isConfirmed: boolean,
): boolean {
  const { key, method, ifNoneMatch } = known;
  const requestId = randomUUID();
  const confirmedSinceMs = isConfirmed ? startedMs : undefined;
  const ready = fastPath.find(key, { requestId, ifNoneMatch, confirmedSinceMs });
  if (!ready) return false;
  write(socket, ready);
  deps.unread.watch(socket, ready.facts.tokenId ?? '');
  reportAnswered(deps, { requestId, startedMs, traceId: undefined }, { method, ...ready });
  return true;
}

/** Lets a connection read nothing until the store has said whether the rows of a request are the same. */
function wait(
  deps: Deps,
  parsed: Parsed,
  arrival: Arrival,
  confirmation: Promise<boolean>,
  proceed: (isConfirmed: boolean) => void,
): void {
  const { socket } = arrival;
  const end = (isConfirmed: boolean) => {
    parsed.isWaiting = false;
    deps.connections.setWaiting(socket, false);
    // Before anything is parsed: Node pauses a connection too.
    if (socket.isPaused()) socket.resume();
    // Its parser may be another connection's by now.
    if (socket.writable) proceed(isConfirmed);
    else reportGone(deps, arrival);
  };
  parsed.isWaiting = true;
  deps.connections.setWaiting(socket, true);
  // What went wrong is for the handler to say.
  confirmation.then(end, () => end(false));
}

/** Reports a request whose caller left before it was answered. */
function reportGone(deps: Deps, { known: { method, path }, startedMs }: Arrival): void {
  const requestId = randomUUID();
  const { status } = errorCodes.cancelled;
  deps.emit({ type: 'http.refused', code: 'cancelled' });
  reportAnswered(
    deps,
    { requestId, startedMs, traceId: undefined },
    { method, path, status, bytes: 0, facts: {} },
  );
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
