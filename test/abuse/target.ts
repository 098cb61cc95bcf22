import { Agent, request } from 'node:http';
import { connect } from 'node:net';

/** A gateway as an attacker sees it. Nothing here throws: how each request ended is counted. */
export type Target = {
  /** A project that has sample rows. */
  readonly project: string;
  /** For raw requests. */
  readonly token: string;
  /** Asks a saved query with a body of JSON. @param options.of default logs.all */
  rest(parameters: Readonly<Record<string, unknown>>, options?: AskOptions): Promise<void>;
  /** Asks logs.all with this SQL. */
  sql(sql: string, options?: AskOptions): Promise<void>;
  graphql(body: object, options?: AskOptions): Promise<void>;
  /** Sends a request as it is given. */
  send(path: string, options?: SendOptions): Promise<void>;
  /** Opens a connection of its own and writes bytes on it. */
  socket(bytes: string | Buffer, options?: SocketOptions): Promise<void>;
};

type AskOptions = {
  readonly of?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Leaves after this many milliseconds, whatever has come. */
  readonly leaveMs?: number;
};

type SendOptions = AskOptions & { readonly method?: string; readonly body?: string | Buffer };

type SocketOptions = {
  /** Milliseconds until it is closed, unless the server closes it first. Default 1000. */
  readonly holdMs?: number;
  /** `half`: with a FIN right behind the bytes, while it still reads; `reset`: with an RST after `holdMs`. Default: with a FIN after `holdMs`. */
  readonly ends?: 'half' | 'reset';
  /** Whether it reads what comes. Default true. */
  readonly reads?: boolean;
  /** Written again and again behind the bytes, each `everyMs`. */
  readonly drip?: string;
  readonly everyMs?: number;
};

/** How the requests of an attack ended: a status, `left`, `closed`, or what was wrong with an answer. */
export type OutcomeCounts = Record<string, number>;

/** Headers of a raw request with the token. */
export const tokenLines = (token: string) => `Host: gateway\r\nX-API-KEY: ${token}\r\n`;

/** Headers of a message of an agent. */
export const agentHeaders = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
};

/** Calls a tool as an agent does. */
export function callTool(to: Target, name: string, args: object): Promise<void> {
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } };
  return to.send('/mcp', { method: 'POST', headers: agentHeaders, body: JSON.stringify(message) });
}

/** Longer answers are not parsed: the attack shall go on. */
const maxParsed = 2 * 1024 * 1024;

/** Makes the target of an attack. @param counts grows as the requests end */
export function createTarget(
  { origin, token, project }: { origin: string; token: string; project: string },
  counts: OutcomeCounts,
): Target {
  const agent = new Agent({ keepAlive: true });
  const { port } = new URL(origin);
  const count = (outcome: string) => {
    counts[outcome] = (counts[outcome] ?? 0) + 1;
  };

  const send = (path: string, { method = 'GET', headers, body, leaveMs }: SendOptions = {}) =>
    new Promise<void>(resolve => {
      const end = (outcome: string) => {
        count(outcome);
        resolve();
      };
      const sent = request(
        origin + path,
        { agent, method, headers: { 'x-api-key': token, ...headers } },
        response => {
          const parts: Buffer[] = [];
          let length = 0;
          response.on('data', (part: Buffer) => {
            length += part.length;
            if (length <= maxParsed) parts.push(part);
          });
          response.on('error', () => end(leaveMs === undefined ? 'closed' : 'left'));
          response.on('end', () => {
            const isPlain = response.headers['content-encoding'] === undefined;
            const isWhole = isPlain && length <= maxParsed && length > 0;
            const text = isWhole ? Buffer.concat(parts).toString() : '';
            end(outcomeOf(response.statusCode ?? 0, text, String(response.headers['content-type'])));
          });
        },
      );
      sent.on('error', () => end(leaveMs === undefined ? 'closed' : 'left'));
      if (leaveMs !== undefined) setTimeout(() => sent.destroy(), leaveMs).unref();
      sent.end(body);
    });

  const post = (path: string, body: object, options: AskOptions) => {
    const headers = { 'content-type': 'application/json', ...options.headers };
    return send(path, { ...options, method: 'POST', headers, body: JSON.stringify(body) });
  };
  const rest: Target['rest'] = (parameters, options = {}) =>
    post(`/api/endpoints/query/${options.of ?? 'logs.all'}`, { project, ...parameters }, options);

  return {
    project,
    token,
    rest,
    sql: (sql, options) => rest({ sql }, options),
    graphql: (body, options = {}) => post('/graphql', body, options),
    send,
    socket: (bytes, { holdMs = 1000, ends, reads = true, drip, everyMs = 100 } = {}) =>
      new Promise(resolve => {
        const socket = connect(Number(port), '127.0.0.1');
        const end = () => (ends === 'reset' ? socket.resetAndDestroy() : socket.destroy());
        const timers = [setTimeout(end, holdMs)];
        if (drip !== undefined) timers.push(setInterval(() => socket.write(drip), everyMs));
        if (reads) {
          socket.on('data', part => {
            const [, status] = /^HTTP\/1\.1 (\d+)/.exec(part.toString('latin1', 0, 16)) ?? [];
            if (status) count(status);
          });
        } else socket.pause();
        socket.on('error', () => undefined); // 'close' follows
        socket.on('close', () => {
          for (const timer of timers) clearInterval(timer);
          count('closed');
          resolve();
        });
        if (ends === 'half') socket.end(bytes);
        else socket.write(bytes);
      }),
  };
}

function outcomeOf(status: number, text: string, type: string): string {
  // NDJSON is a line for each row.
  if (text === '' || !type.includes('json') || type.includes('ndjson')) return String(status);
  try {
    const { error } = JSON.parse(text);
    // Only what is rare on purpose is said in full: each message of a refusal has its own line and column.
    return status >= 500 ? `${status} ${error?.message}` : `${status} ${error?.code ?? ''}`.trim();
  } catch {
    return `${status} not JSON: ${text.slice(0, 60)}`;
  }
}
