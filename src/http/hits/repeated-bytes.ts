import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { LRUCache } from 'lru-cache';
import { releaseBytes } from '../../base/bytes.ts';
import { errorCodes } from '../../base/errors.ts';
import { createTurnBudget, type TurnBudget } from '../../base/turns.ts';
import { dropInput } from '../../http-messages/answer-raw.ts';
import type { Connections } from '../../http-messages/connections.ts';
import { pathOf } from '../../http-messages/request-context.ts';
import { type Incoming, reportAnswered, type SendDeps } from '../../http-messages/send-response.ts';
import type { FastPath, ReadyResponse } from './fast-path.ts';

/**
 * Answers requests before they are parsed: those that are byte for byte equal to an earlier request that the fast path has
 * answered. Parsing a request and making a response object takes Node longer than writing the answer (decision 106).
 */
export type RepeatedBytes = {
  /** Reads the bytes of a new connection before the parser does; they wait if this turn of the event loop has used up its time. */
  watch(socket: Socket): void;
  /** Records that the parser has found a request. */
  begin(request: IncomingMessage): void;
  /** Records that the parser has found a request for another protocol. It is answered like any other, but bytes received with it are lost. */
  beginUpgrade(request: IncomingMessage): void;
  /**
   * Remembers the bytes of a request.
   * @param key under which the fast path answered it
   */
  remember(incoming: Incoming, key: string): void;
  /** Lets everything be parsed from now on. */
  stop(): void;
};

type Deps = SendDeps & {
  readonly connections: Pick<Connections, 'beginRepeated' | 'inFlight' | 'setWaiting'>;
};

/** The state of parsing on a connection. */
type Parsed = {
  /**
   * Bytes of the current request that have not arrived yet: at 0 the next byte is the first of a request. NaN if that is unknown, because
   * a head came in parts, a body in chunks, or two requests at once.
   */
  awaited: number;
  /** The number of requests found in the bytes received last, and the latest of them. */
  found: number;
  request: IncomingMessage | undefined;
  /** The bytes received last, if they are exactly one whole request. */
  whole: Buffer | undefined;
  /** How those bytes were answered. */
  answered: Known | undefined;
  /** Whether earlier bytes wait for the store, or for their turn of the event loop. */
  isWaiting: boolean;
  /** Whether the next bytes have already waited for their turn. */
  isDue: boolean;
  /** Whether the current request asks for another protocol. */
  isUpgrade: boolean;
};

function nothingParsed(): Parsed {
  const request = undefined;
  const state = { isWaiting: false, isDue: false, isUpgrade: false };
  return { awaited: 0, found: 0, request, whole: undefined, answered: undefined, ...state };
}

/** A remembered request. */
type Known = {
  /** For the fast path. */
  readonly key: string;
  readonly method: string | undefined;
  readonly path: string;
  readonly ifNoneMatch: string | undefined;
  /** Whether its last response was a long one. */
  isLong: boolean;
};

/** Maximum bytes of a remembered request, including its body. */
const maxRequestBytes = 16 * 1024;

/** Maximum bytes of all remembered requests. */
const maxBytes = 16 * 1024 * 1024;

/** Bytes of an entry besides its texts. */
const overheadBytes = 512;

/** Milliseconds of one turn of the event loop after which no further request begins; the one that has begun may take longer. */
const maxTurnMs = 10;

const headEnd = '\r\n\r\n';

/** Bytes of the shortest head, `GET / HTTP/1.1`, before its end. */
const minHeadBytes = 14;

/** Makes an empty memory of requests. */
export function createRepeatedBytes(deps: Deps, fastPath: AnsweringPath): RepeatedBytes {
  const all = new LRUCache<string, Known>({
    maxSize: maxBytes,
    sizeCalculation: ({ key }, bytes) => overheadBytes + bytes.length + key.length,
  });
  const connections = new WeakMap<Socket, Parsed>();
  const turns = createTurnBudget(maxTurnMs);
  let isStopped = false;

  /** @returns false if the bytes must be parsed, or wait for their turn */
  function take({ socket, parsed, parse }: Receiver, bytes: Buffer, isDue: boolean): boolean {
    if (isStopped || bytes.length > maxRequestBytes) return false;
    const startedMs = performance.now();
    const known = all.get(bytes.toString('latin1'));
    if (!known || (known.isLong && !isDue && turns.isSpent())) return false;
    if (!deps.connections.beginRepeated(socket)) return false;
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
      // The listener of node:http, which is not documented: if it is missing, or not the only one, everything is parsed.
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
      const receiver = { socket, parsed, parse };
      socket.on('data', (bytes: Buffer) => {
        const { isDue } = parsed;
        parsed.isDue = false;
        // Answering by bytes takes so little time that it does not count against the turn, unless the response is long.
        if (parsed.isWaiting) putBack(socket, bytes);
        else if (parsed.awaited === 0 && take(receiver, bytes, isDue)) return;
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
      const ifNoneMatch = headers['if-none-match'];
      parsed.answered = { key, method, path: pathOf(request), ifNoneMatch, isLong: false };
      keep(parsed);
    },
    stop() {
      isStopped = true;
    },
  };
}

/** A connection, its state, and the parser of its bytes. */
type Receiver = {
  readonly socket: Socket;
  readonly parsed: Parsed;
  readonly parse: (bytes: Buffer) => void;
};

/** Puts bytes back, to be read again before all later ones when the connection resumes. */
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

/** Puts bytes back, and pauses their connection until its turn. */
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

/** Passes bytes to the parser, and records what it found in them. */
function parseBytes(parser: Parser, parsed: Parsed, bytes: Buffer): void {
  const { awaited } = parsed;
  const size = bytes.length;
  parsed.found = 0;
  parsed.request = parsed.whole = parsed.answered = undefined;
  const isStart = awaited === 0;
  let length = awaited;
  if (awaited >= size) {
    parser.listener(bytes);
    // The middle of a body, of which the parser has made a copy.
    if (length > size) releaseBytes(bytes);
  } else if (!parseInPieces(parser, parsed, bytes, awaited)) length = Number.NaN;
  else if (isStart) length = lengthOf(bytes, parsed);
  parsed.awaited = length >= size ? length - size : Number.NaN;
  if (isStart && parsed.awaited === 0 && size <= maxRequestBytes) parsed.whole = bytes;
}

/** Maximum bytes for the parser at once if their request's end is not known: a body of thousands of small chunks is refused before its rest is parsed. */
const maxPieceBytes = 16 * 1024;

/** Calls of the parser for one request after which other connections get a turn: in a body of unknown length each blank line looks like the end of a head. */
const maxCalls = 64;

/**
 * Passes bytes to the parser request by request: they may hold thousands. Requests after a refused one are not answered. Other connections
 * that wait get a turn between two requests.
 * @param awaited bytes of the current request with which they begin; NaN if that is unknown
 * @returns false if some bytes were dropped, or wait
 */
function parseInPieces(parser: Parser, parsed: Parsed, bytes: Buffer, awaited: number): boolean {
  const { socket, listener, turns } = parser;
  let bodyLength = awaited || 0;
  let calls = 0;
  for (let at = 0; at < bytes.length; ) {
    const isComplete = parsed.request?.complete;
    // Input is dropped here; after CONNECT the parser may belong to another connection. Bytes after a request for another protocol are lost.
    if (socket.listenerCount('data') === 0 || (isComplete && parsed.isUpgrade)) return false;
    if (socket.isPaused()) {
      // Earlier responses have to be read first.
      socket.unshift(bytes.subarray(at));
      return false;
    }
    calls = isComplete ? 0 : calls + 1;
    if ((isComplete || calls > maxCalls) && turns.isSpent()) {
      waitForTurn(parser, parsed, bytes.subarray(at));
      return false;
    }
    const end = bodyLength > 0 ? at + bodyLength : endOfPiece(bytes, at);
    listener(bytes.subarray(at, end));
    at = end;
    bodyLength = missingOf(parsed);
  }
  return true;
}

/** Length of the body of a request whose head alone was parsed; 0 for one in chunks, whose length is unknown. */
function missingOf({ request }: Parsed): number {
  return request && !request.complete ? Number(request.headers['content-length'] ?? 0) : 0;
}

/** The end of the first head in the bytes; or, because they belong to one request, the end of them all if no other head follows. */
function endOfPiece(bytes: Buffer, at: number): number {
  const first = bytes.indexOf(headEnd, at + minHeadBytes);
  const next = first < 0 ? first : bytes.indexOf(headEnd, first + minHeadBytes);
  return Math.min(next < 0 ? bytes.length : first + headEnd.length, at + maxPieceBytes);
}

/** Ends a connection with the response to its last request. Node's parser has dropped later requests, whose client would wait in vain. */
function endAfterResponse({ connections }: Deps, socket: Socket): void {
  dropInput(socket);
  const last = connections.inFlight(socket);
  if (last && !last.response.headersSent) last.response.shouldKeepAlive = false;
  else socket.destroySoon();
}

type AnsweringPath = Pick<FastPath, 'confirm' | 'find'>;

/** Known bytes that arrived on a connection. */
type Arrival = {
  readonly socket: Socket;
  readonly known: Known;
  /** As performance.now(). */
  readonly startedMs: number;
};

/** @returns false if the request must be parsed */
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
  known.isLong = ready.start !== undefined;
  write(socket, ready);
  deps.unread.watch(socket, ready.facts.tokenId ?? '');
  reportAnswered(deps, { requestId, startedMs, traceId: undefined }, { method, ...ready });
  return true;
}

/** Pauses a connection until the store has answered whether the rows of a request are still the same. */
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
    // Before anything is parsed, because Node pauses connections too.
    if (socket.isPaused()) socket.resume();
    // By now its parser may belong to another connection.
    if (socket.writable) proceed(isConfirmed);
    else reportGone(deps, arrival);
  };
  parsed.isWaiting = true;
  deps.connections.setWaiting(socket, true);
  // If this fails, the handler reports why.
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

/** Length of the request that begins with these bytes; NaN if its head is incomplete, or more than one request was found. */
function lengthOf(bytes: Buffer, { found, request }: Parsed): number {
  const end = bytes.indexOf(headEnd);
  if (!request || found !== 1 || end < 0) return Number.NaN;
  const { 'transfer-encoding': coding, 'content-length': length = 0 } = request.headers;
  return coding === undefined ? end + headEnd.length + Number(length) : Number.NaN;
}

/** Writes a response; writes of one turn are sent in one system call. */
function write(socket: Socket, { head, start, text }: ReadyResponse): void {
  if (!start) {
    socket.write(head + text, 'latin1');
    return;
  }
  socket.cork();
  socket.write(head, 'latin1');
  socket.write(start);
  socket.write(text, 'latin1');
  socket.uncork();
}
