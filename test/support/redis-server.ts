import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { connect as connectTls } from 'node:tls';
import { promisify } from 'node:util';
import { endWithProcess } from './end-with-process.ts';
import { freePort } from './free-port.ts';
import type { TestCertificate } from './test-certificate.ts';

/** A private Redis of the tests. */
export type RedisServer = {
  readonly url: string;
  readonly port: number;
  /** The process to freeze or kill; of the Docker client where Redis runs in a container. */
  readonly pid: number;
  /**
   * Sends one line, such as `CONFIG GET maxmemory`.
   * @returns the reply as Redis writes it
   * @throws Error with the reply where it is an error
   */
  command(line: string): Promise<string>;
  /** Kills the server and waits until it is gone. */
  stop(): Promise<void>;
};

/** How a server is locked; default: not at all. */
export type RedisLock = {
  /** It speaks TLS with this certificate, and nothing else. */
  readonly certificate?: TestCertificate;
  /** Of its default user. */
  readonly password?: string;
};

const run = promisify(execFile);

/** What to type where neither a binary, nor apt as root, nor Docker is there. */
const remedy = 'sudo apt-get update && sudo apt-get install -y redis-server';

/**
 * Starts a Redis that keeps nothing on disk, on loopback; installs the binary where there is none.
 * @param options.port default: a free one
 * @param options.settings more of its command line
 * @throws Error with the one line to type where Redis can't be had
 */
export async function startRedisServer(
  options: { port?: number; settings?: readonly string[]; lock?: RedisLock } = {},
): Promise<RedisServer> {
  const { lock = {} } = options;
  for (let attempt = 1; ; attempt++) {
    const port = options.port ?? (await freePort());
    const [command, ...before] = await redisCommand(port);
    const ports = lock.certificate ? ['--port', '0', '--tls-port', String(port)] : ['--port', String(port)];
    const settings = [...ports, '--save', '', '--appendonly', 'no', ...lockSettings(lock)];
    try {
      return await launchRedis(command, [...before, ...settings, ...(options.settings ?? [])], port, lock);
    } catch (error) {
      // Somebody else may have taken the port meanwhile.
      if (options.port !== undefined || attempt === 3) throw error;
    }
  }
}

/** The command line of a lock; what the server itself connects to has the same one. */
function lockSettings({ certificate, password }: RedisLock): string[] {
  const settings = password ? ['--requirepass', password, '--masterauth', password] : [];
  if (!certificate) return settings;
  const { certificateFile, keyFile } = certificate;
  const files = { 'cert-file': certificateFile, 'key-file': keyFile, 'ca-cert-file': certificateFile };
  const everywhere = { 'auth-clients': 'no', replication: 'yes', cluster: 'yes' };
  const tls = Object.entries({ ...files, ...everywhere }).flatMap(([name, value]) => [
    `--tls-${name}`,
    value,
  ]);
  return [...settings, ...tls];
}

/** Starts a Redis program that listens on this port of loopback, and waits until it answers. */
export async function launchRedis(
  command: string,
  args: readonly string[],
  port: number,
  lock: RedisLock = {},
): Promise<RedisServer> {
  const child = spawn(command, args, { cwd: tmpdir(), stdio: 'ignore' });
  endWithProcess(child);
  const ended = once(child, 'exit');
  const send = (line: string) => sendLine(port, line, lock);
  await Promise.race([answers(port, send), failed(child)]);
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    pid: child.pid!,
    command: send,
    async stop() {
      // A frozen process takes no other signal.
      child.kill('SIGKILL');
      await ended;
    },
  };
}

/** Lets time pass for values and leases: a Redis whose clock can't be moved keeps them for less by as much. */
export async function passTime({ command }: RedisServer, ms: number): Promise<void> {
  const script = `for _, key in ipairs(redis.call('KEYS', '*')) do
    local left = redis.call('PTTL', key)
    if left >= 0 then redis.call('PEXPIRE', key, left - ${ms}) end
  end`;
  await command(`EVAL "${script.replaceAll(/\s+/g, ' ')}" 0`);
}

/** The program and its first arguments; installs it first where it must. */
async function redisCommand(port: number): Promise<[string, ...string[]]> {
  // A replica writes what it is sent to a file, and a server that finds one at its start reads it.
  const file = ['--dir', tmpdir(), '--dbfilename', `${randomUUID()}.rdb`];
  const binary: [string, ...string[]] = ['redis-server', '--bind', '127.0.0.1', ...file];
  if (await works('redis-server', ['--version'])) return binary;
  if (process.getuid?.() === 0 && (await works('apt-get', ['--version']))) {
    if (await installWithApt()) return binary;
  }
  if (await works('docker', ['info'])) {
    return ['docker', 'run', '--rm', '-i', '-p', `127.0.0.1:${port}:${port}`, 'redis:7', 'redis-server'];
  }
  throw new Error(`The tests need a redis-server. Type: ${remedy}`);
}

/** Test processes that begin together all find none: one installs it, and the lists of packages have a lock that apt does not wait for. */
async function installWithApt(): Promise<boolean> {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C' };
  const options = ['-o', 'DPkg::Lock::Timeout=120'];
  const deadlineMs = Date.now() + 120_000;
  for (;;) {
    try {
      await run('apt-get', [...options, 'update'], { env });
      await run('apt-get', [...options, 'install', '-y', '--no-install-recommends', 'redis-server'], { env });
      return true;
    } catch (error) {
      const isLocked = error instanceof Error && error.message.includes('Could not get lock');
      if (!isLocked || Date.now() > deadlineMs) return false;
      await new Promise(resolve => setTimeout(resolve, 500));
      if (await works('redis-server', ['--version'])) return true;
    }
  }
}

async function works(command: string, args: readonly string[]): Promise<boolean> {
  try {
    await run(command, args, { timeout: 10_000 });
    return true;
  } catch {
    return false;
  }
}

type Send = (line: string) => Promise<string>;

/** Resolves when the server says PONG, so that no test meets one that is still loading. */
async function answers(port: number, send: Send): Promise<void> {
  const deadlineMs = Date.now() + 60_000;
  while (Date.now() < deadlineMs) {
    if (await ping(send)) return;
    await new Promise(resolve => setTimeout(resolve, 20));
  }
  throw new Error(`redis-server on port ${port} did not answer within 60 s`);
}

async function ping(send: Send): Promise<boolean> {
  try {
    return (await send('PING')).startsWith('+PONG');
  } catch {
    return false;
  }
}

/** Milliseconds that a server may take to answer on a busy machine. */
const answerMs = 20_000;

async function sendLine(port: number, line: string, { certificate, password }: RedisLock): Promise<string> {
  const address = { port, host: '127.0.0.1' };
  const socket = certificate
    ? connectTls({ ...address, ca: await readFile(certificate.certificateFile), servername: 'localhost' })
    : connect(address);
  socket.setTimeout(answerMs, () => socket.destroy(new Error(`No answer to ${line} within ${answerMs} ms`)));
  const say = async (text: string) => {
    socket.write(`${text}\r\n`);
    const [data] = await once(socket, 'data');
    const reply = String(data);
    if (reply.startsWith('-')) throw new Error(`${text}: ${reply}`);
    return reply;
  };
  try {
    if (password) await say(`AUTH ${password}`);
    return await say(line);
  } finally {
    socket.destroy();
  }
}

async function failed(child: ChildProcess): Promise<never> {
  const [code] = await once(child, 'exit'); // rejects on 'error': not to be started at all
  throw new Error(`redis-server ended with code ${code} before it answered`);
}
