import { connect, type Socket } from 'node:net';

/** A connection on which a test writes bytes of its own, and reads when it wants to. */
export type RawConnection = {
  readonly socket: Socket;
  write(bytes: string | Buffer): void;
  /** All that came, once the server ends the connection; what an abrupt end leaves too. */
  readonly ended: Promise<string>;
  /** What came so far. */
  text(): string;
  /** Resolves when this text has come. */
  has(text: string): Promise<void>;
};

/** Connects to a port of loopback. */
export async function openRaw(port: number): Promise<RawConnection> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  let text = '';
  let wake = () => {};
  socket.setEncoding('latin1').on('data', part => {
    text += part;
    wake();
  });
  const ended = new Promise<string>(resolve => {
    socket.on('error', () => resolve(text));
    socket.on('end', () => {
      socket.destroy();
      resolve(text);
    });
    socket.on('close', () => resolve(text));
  });
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve);
    socket.once('error', reject);
  });
  return {
    socket,
    write: bytes => void socket.write(bytes),
    ended,
    text: () => text,
    async has(wanted) {
      while (!text.includes(wanted)) {
        if (socket.destroyed) throw new Error(`The connection ended before ${wanted}: ${text}`);
        await Promise.race([ended, new Promise<void>(resolve => (wake = resolve))]);
      }
    },
  };
}

/** The answers in what a connection read, in their order; each must have a Content-Length. */
export function readAnswers(text: string) {
  const answers: { status: number; head: string; body: string }[] = [];
  let at = 0;
  while (at < text.length) {
    const headEnd = text.indexOf('\r\n\r\n', at);
    const head = text.slice(at, headEnd);
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
    at = headEnd + 4 + length;
    answers.push({ status: Number(head.split(' ')[1]), head, body: text.slice(headEnd + 4, at) });
  }
  return answers;
}
