import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { databasePath } from '../../src/composition/compose-engine.ts';
import { openForWriting } from '../../src/duckdb/database.ts';
import { readSources } from '../../src/endpoints/sources.ts';
import { bigqueryEnvironment } from '../bigquery/bigquery-environment.ts';
import { startTwins } from '../bigquery/twin-gateways.ts';
import { childrenOf } from '../support/children-of.ts';
import { endWithProcess } from '../support/end-with-process.ts';
import { freePort } from '../support/free-port.ts';
import { startLoopClock } from '../support/loop-clock.ts';
import { openRaw, readAnswers } from '../support/raw-connection.ts';
import { startRedisServer } from '../support/redis-server.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const planted = new URL('../support/plant-faults.ts', import.meta.url).href;
const token = 'the-token-of-the-tests';
const drainMs = 3000;
/** The same where nothing can be answered any more. */
const shortDrainMs = 500;
/** What an end may take beyond the bound; as the event loop goes. */
const slackMs = 4000;
/** What a warehouse may take to answer a gateway that starts. */
const warehouseAtStartMs = 20_000;

/** For a service with a folder of its own and nothing in it, on a free port. */
const ownEnvironment = async () => ({
  ...process.env,
  DATA_DIR: await temporaryDirectory(),
  SAMPLE_ROWS: '0',
  PORT: '0',
  ACCESS_TOKEN: token,
});

const withFaults = (program: 'gateway' | 'worker') => ['--import', planted, `src/${program}.ts`];

/** Starts a program of the service with faults to be planted; resolves once it has printed `ready`. */
async function start(program: 'gateway' | 'worker', environment: Record<string, string> = {}) {
  const ready = program === 'gateway' ? 'Try:' : 'Worker:';
  const child = spawn('node', withFaults(program), {
    cwd: root,
    env: { ...(await ownEnvironment()), DRAIN_MS: String(drainMs), ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  endWithProcess(child);
  onTestFinished(async () => {
    if (child.exitCode === null && child.signalCode === null && child.kill('SIGKILL'))
      await once(child, 'exit');
  });
  let out = '';
  let err = '';
  child.stderr.setEncoding('utf8').on('data', part => {
    err += part;
  });
  child.stdout.setEncoding('utf8').on('data', part => {
    out += part;
  });
  while (!out.includes(ready)) {
    await Promise.race([once(child.stdout, 'data'), once(child, 'exit')]);
    if (child.exitCode !== null) throw new Error(`It ended: ${err}`);
  }
  return { child, port: Number(/gateway at \S+:(\d+)/.exec(out)?.[1]), errors: () => err };
}

/** Sends a signal, and waits for the end; kills what has none within this many milliseconds. */
async function endsBy(child: ChildProcess, signal: NodeJS.Signals, limitMs = 240_000) {
  const tookMs = startLoopClock();
  const ended = once(child, 'exit');
  child.kill(signal);
  const late = setTimeout(() => child.kill('SIGKILL'), limitMs);
  const [code] = await ended;
  clearTimeout(late);
  return { code, ms: tookMs() };
}

const isAlive = (pid: number) => {
  try {
    return !execFileSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' }).startsWith('Z');
  } catch {
    return false;
  }
};

/** A child of a process that has ended may outlive it by the time that a busy machine needs to end it. */
const haveEnded = (pids: readonly number[]) => vi.waitFor(() => expect(pids.filter(isAlive)).toEqual([]));

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\nX-API-KEY: ${token}\r\n\r\n`;
const logs = '/api/endpoints/query/logs.all?project=ours';

describe('SIGTERM drops nothing', () => {
  test('twenty keep-alive clients under load see no reset, and are asked to close', async () => {
    // Time enough for all of them on a busy machine.
    const boundMs = 12_000;
    const { child, port } = await start('gateway', { DRAIN_MS: String(boundMs) });
    const agent = new Agent({ keepAlive: true, maxSockets: 20 });
    onTestFinished(() => agent.destroy());
    const failures: string[] = [];
    const closing = new Set<string>();
    let answered = 0;
    let isOver = false;
    const ask = () =>
      new Promise<void>(resolve => {
        const sent = request({ port, path: logs, agent, headers: { 'x-api-key': token } }, response => {
          if (response.statusCode !== 200) failures.push(String(response.statusCode));
          closing.add(String(response.headers.connection));
          answered++;
          response.resume().on('end', resolve);
        });
        sent.on('error', (error: NodeJS.ErrnoException) => {
          // A connection that was never made carried no request.
          if (error.code === 'ECONNREFUSED') isOver = true;
          else failures.push(`${error.code} ${error.message}`);
          resolve();
        });
        sent.end();
      });
    const clients = Array.from({ length: 20 }, async () => {
      while (!isOver) await ask();
    });
    while (answered < 100) await new Promise(resolve => setTimeout(resolve, 10));
    const { code, ms } = await endsBy(child, 'SIGTERM');
    isOver = true;
    await Promise.all(clients);
    expect([code, failures]).toEqual([0, []]);
    expect(closing).toEqual(new Set(['keep-alive', 'close']));
    expect(ms).toBeLessThan(boundMs + slackMs);
  });

  test('/readyz says so, what is in a socket is answered, and idle connections are closed', async () => {
    // Longer than the test may take: the end does not wait for it.
    const { child, port } = await start('gateway', { DRAIN_MS: '600000' });
    const [probe, pipelining, idle] = [await openRaw(port), await openRaw(port), await openRaw(port)];
    probe.write(get('/readyz'));
    await probe.has('"ready"');
    idle.write(get('/livez'));
    await idle.has('"alive"');
    const ended = endsBy(child, 'SIGTERM');
    const slow = `${logs}&sql=${encodeURIComponent('select count(*) as n from unnest(generate_array(1, 20000)) a, unnest(generate_array(1, 100)) b where mod(a * b, 7) = 3')}`;
    pipelining.write(get(slow) + get('/livez') + get(slow));
    const answers = readAnswers(await pipelining.ended);
    probe.write(get('/readyz'));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    // Only the last answer may end the connection.
    expect(answers[0]?.head).not.toMatch(/\r\nconnection: close/i);
    expect(await idle.ended).toContain('"alive"');
    expect((await ended).code).toBe(0);
  });

  test('/readyz is 503 with its reason while connections are still taken', async () => {
    const { child, port } = await start('gateway');
    const ended = endsBy(child, 'SIGTERM');
    // A new connection each time: they are taken until none came for half a second.
    for (;;) {
      const connection = await openRaw(port);
      connection.write(get('/readyz').replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'));
      const [answer] = readAnswers(await connection.ended);
      if (answer?.status === 200) continue;
      expect(answer).toMatchObject({ status: 503, body: '{"status":"unready","reasons":["stopping"]}' });
      break;
    }
    expect((await ended).code).toBe(0);
  });

  test('a query that takes longer than the bound is answered with 503 before the end', async () => {
    // Two processors are busy for as long as this.
    const boundMs = 1000;
    const { child, port } = await start('gateway', { DRAIN_MS: String(boundMs) });
    const connection = await openRaw(port);
    connection.write(
      get(
        `${logs}&sql=${encodeURIComponent('select count(*) as n from unnest(generate_array(1, 1000000)) a, unnest(generate_array(1, 1000000)) b where a + b = 7')}`,
      ),
    );
    // An answer on another connection shows that the first one's request was read.
    const other = await openRaw(port);
    other.write(get('/livez'));
    await other.has('"alive"');
    const { code, ms } = await endsBy(child, 'SIGTERM');
    const [answer] = readAnswers(await connection.ended);
    expect([code, answer?.status]).toEqual([0, 503]);
    expect(answer?.body).toContain('"unavailable"');
    expect(ms).toBeLessThan(boundMs + slackMs);
  });
});

/** Starts a gateway as people do, in a process group of its own, as a terminal has it. */
async function startByNpm() {
  const child = spawn('npm', ['start'], {
    cwd: root,
    env: { ...(await ownEnvironment()), DRAIN_MS: '30000' },
    stdio: ['ignore', 'pipe', 'ignore'],
    detached: true,
  });
  const send = (signal: NodeJS.Signals, to: 'npm' | 'group') =>
    process.kill(to === 'npm' ? child.pid! : -child.pid!, signal);
  endWithProcess(child);
  onTestFinished(() => {
    try {
      send('SIGKILL', 'group');
    } catch {
      // All of it has ended.
    }
  });
  let out = '';
  child.stdout.setEncoding('utf8');
  for await (const part of child.stdout) {
    out += part;
    if (out.includes('Try:')) break;
  }
  return { send, ended: once(child, 'exit'), port: Number(/gateway at \S+:(\d+)/.exec(out)?.[1]) };
}

/** A terminal sends Ctrl-C to the whole group, and npm passes on what it gets itself: the gateway gets it twice. */
test.each([
  ['SIGTERM', 'npm'],
  ['SIGINT', 'group'],
] as const)(
  '%s to the %s that runs the start script ends the gateway, which answers first',
  async (signal, to) => {
    const { send, ended, port } = await startByNpm();
    const [waiting, other] = [await openRaw(port), await openRaw(port)];
    const slow =
      'select count(*) as n from unnest(generate_array(1, 30000)) a, unnest(generate_array(1, 1000)) b where mod(a * b, 7) = 3';
    waiting.write(get(`${logs}&sql=${encodeURIComponent(slow)}`));
    // An answer on another connection shows that the request was read; after some more of them its query runs.
    for (let answers = 1; answers <= 5; answers++) {
      other.write(get('/livez'));
      while (other.text().split('"alive"').length <= answers) await once(other.socket, 'data');
    }
    send(signal, to);
    const [answer] = readAnswers(await waiting.ended);
    expect(answer?.status).toBe(200);
    await ended;
    await expect(openRaw(port)).rejects.toThrow('ECONNREFUSED');
  },
);

const endings = [
  ['SIGTERM', 0],
  ['SIGINT', 0],
  ['SIGUSR2', 1],
  ['SIGWINCH', 1],
] as const;

/** Asked to, and by a fault. */
const twoEndings = [endings[0], endings[2]] as const;

/** A pipe as a shell makes it, which nobody reads; Node gives its children sockets. */
async function unreadPipe(isFull: boolean): Promise<number> {
  const path = join(await temporaryDirectory(), 'pipe');
  execFileSync('mkfifo', [path]);
  const [reader, filler] = [constants.O_RDONLY, constants.O_WRONLY].map(flag =>
    openSync(path, flag | constants.O_NONBLOCK),
  );
  const writer = openSync(path, 'w');
  onTestFinished(() => [reader!, filler!, writer].forEach(closeSync));
  const fill = () => {
    while (isFull) writeSync(filler!, Buffer.alloc(4096));
  };
  if (isFull) expect(fill).toThrow('EAGAIN');
  return writer;
}

/** Starts a gateway, with faults to be planted, whose output and error go into a pipe; resolves once it answers. */
async function startInto(pipe: number) {
  const port = await freePort();
  const child = spawn('node', withFaults('gateway'), {
    cwd: root,
    env: {
      ...(await ownEnvironment()),
      PORT: String(port),
      DRAIN_MS: String(shortDrainMs),
      LOG_LEVEL: 'debug',
    },
    stdio: ['ignore', pipe, pipe],
  });
  endWithProcess(child);
  onTestFinished(() => void child.kill('SIGKILL'));
  await vi.waitFor(() => fetch(`http://127.0.0.1:${port}/livez`), { timeout: 60_000, interval: 50 });
  return { child, port };
}

/** A server, on a free port, that takes connections and answers nothing. */
async function listenAndSayNothing() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  // It listens on TCP.
  const { port } = server.address() as AddressInfo;
  return { port, connected: once(server, 'connection') };
}

/** Starts a gateway that will not come to listen, whose output and error go into a full pipe. */
async function startWhatFails(environment: Record<string, string>) {
  const pipe = await unreadPipe(true);
  const child = spawn('node', ['src/gateway.ts'], {
    cwd: root,
    env: { ...(await ownEnvironment()), ...environment },
    stdio: ['ignore', pipe, pipe],
  });
  endWithProcess(child);
  return child;
}

/** Asks for more than a pipe holds and the log keeps, a long path in each line. */
async function fillLog(ask: (path: string) => Promise<unknown>): Promise<void> {
  const path = `/${'x'.repeat(30_000)}`;
  for (let n = 0; n < 5; n++) await Promise.all(Array.from({ length: 20 }, () => ask(path)));
}

describe('every way to end takes a bounded time, whatever hangs', () => {
  test.each(twoEndings)('a pipe that is full from the beginning: %s', async (signal, code) => {
    const { child } = await startInto(await unreadPipe(true));
    const end = await endsBy(child, signal, 30_000);
    expect(end.code).toBe(code);
    expect(end.ms).toBeLessThan(shortDrainMs + slackMs);
  });

  test.each(twoEndings)('a pipe that nobody reads, on which writes wait: %s', async (signal, code) => {
    const pipe = await unreadPipe(false);
    // Node gives the pipe back as it found it: when this one ends, writes to it wait again.
    const neighbour = spawn('node', ['-e', 'process.on("message", () => {}); process.send(1)'], {
      stdio: ['ignore', pipe, pipe, 'ipc'],
    });
    endWithProcess(neighbour);
    await once(neighbour, 'message');
    const { child, port } = await startInto(pipe);
    neighbour.disconnect();
    await once(neighbour, 'exit');
    await fillLog(path => fetch(`http://127.0.0.1:${port}${path}`).then(answer => answer.text()));
    const end = await endsBy(child, signal, 30_000);
    expect(end.code).toBe(code);
    expect(end.ms).toBeLessThan(shortDrainMs + slackMs);
  });

  test.each(twoEndings)(
    'a process of the engine that does not end when it is killed: %s',
    async (signal, code) => {
      const { child, errors } = await start('gateway', {
        DRAIN_MS: String(shortDrainMs),
        PLANT_UNENDING: 'true',
      });
      const engines = childrenOf(child.pid!);
      onTestFinished(() => {
        for (const pid of engines) if (isAlive(pid)) process.kill(pid, 'SIGKILL');
      });
      const end = await endsBy(child, signal, 30_000);
      expect(end.code).toBe(code);
      expect(errors()).toContain(`"event":"process.${code === 0 ? 'stop_cut_off' : 'failed'}"`);
      expect(end.ms).toBeLessThan(shortDrainMs + slackMs);
    },
  );

  test.each(endings)('standard output and error that nobody reads: %s', async (signal, code) => {
    const { child, port } = await start('gateway', { LOG_LEVEL: 'debug' });
    child.stdout?.pause();
    child.stderr?.pause();
    const agent = new Agent({ keepAlive: true, maxSockets: 20 });
    onTestFinished(() => agent.destroy());
    const ask = (path: string) =>
      new Promise<string>((resolve, reject) => {
        request({ port, path, agent, headers: { 'x-api-key': token } }, response => {
          let text = '';
          response.on('data', part => {
            text += part;
          });
          response.on('end', () => resolve(text));
        })
          .on('error', reject)
          .end();
      });
    await fillLog(ask);
    const metrics = await ask('/metrics');
    expect(Number(/^log_lines_dropped (\d+)/m.exec(metrics)?.[1])).toBeGreaterThan(0);
    agent.destroy();
    const engines = childrenOf(child.pid!);
    const end = await endsBy(child, signal);
    expect(end.code).toBe(code);
    expect(end.ms).toBeLessThan(drainMs + slackMs);
    expect(engines.length).toBeGreaterThan(0);
    await haveEnded(engines);
  });

  test.each(twoEndings)('a frozen Redis and a frozen engine: %s', async (signal, code) => {
    const redis = await startRedisServer();
    onTestFinished(redis.stop);
    const { child, port, errors } = await start('gateway', {
      REDIS_URL: redis.url,
      DRAIN_MS: String(shortDrainMs),
    });
    const engines = childrenOf(child.pid!);
    for (const engine of engines) process.kill(engine, 'SIGSTOP');
    process.kill(redis.pid, 'SIGSTOP');
    const waiting = await openRaw(port);
    waiting.write(get(logs));
    const end = await endsBy(child, signal);
    expect([end.code, engines.length > 0]).toEqual([code, true]);
    await haveEnded(engines);
    expect(end.ms).toBeLessThan(shortDrainMs + slackMs);
    if (code === 1) expect(errors()).toMatch(/"event":"process.failed".*planted/);
  });

  test.each(twoEndings)('a worker over a frozen Redis: %s', async (signal, code) => {
    const redis = await startRedisServer();
    onTestFinished(redis.stop);
    const DATA_DIR = await temporaryDirectory();
    (await openForWriting(databasePath({ DATA_DIR }), readSources())).close();
    const { child } = await start('worker', {
      REDIS_URL: redis.url,
      DATA_DIR,
      DRAIN_MS: String(shortDrainMs),
    });
    process.kill(redis.pid, 'SIGSTOP');
    const end = await endsBy(child, signal);
    expect(end.code).toBe(code);
    expect(end.ms).toBeLessThan(drainMs + slackMs);
  });

  test('a start that fails, with full standard output and error, a silent Redis and a frozen engine', async () => {
    const [redis, taken] = [await listenAndSayNothing(), await listenAndSayNothing()];
    const child = await startWhatFails({
      PORT: String(taken.port),
      REDIS_URL: `redis://127.0.0.1:${redis.port}`,
    });
    await redis.connected;
    // By then its engine is open; the port is taken only afterwards.
    const engines = childrenOf(child.pid!);
    for (const engine of engines) process.kill(engine, 'SIGSTOP');
    const [code] = await once(child, 'exit');
    expect([code, engines.length > 0]).toEqual([1, true]);
    await haveEnded(engines);
  });

  test('a start that fails because a warehouse answers nothing, with full standard output and error', async () => {
    const warehouse = await listenAndSayNothing();
    const child = await startWhatFails(bigqueryEnvironment(`http://127.0.0.1:${warehouse.port}`));
    await warehouse.connected;
    const tookMs = startLoopClock();
    const [code] = await once(child, 'exit');
    expect(code).toBe(1);
    expect(tookMs()).toBeLessThan(warehouseAtStartMs + slackMs);
  });

  test.each(twoEndings)('a warehouse that answers nothing while it starts: %s', async (signal, code) => {
    const warehouse = await listenAndSayNothing();
    const child = spawn('node', withFaults('gateway'), {
      cwd: root,
      env: { ...(await ownEnvironment()), ...bigqueryEnvironment(`http://127.0.0.1:${warehouse.port}`) },
      stdio: 'ignore',
    });
    endWithProcess(child);
    await warehouse.connected;
    expect((await endsBy(child, signal, 60_000)).code).toBe(code);
  });

  test.each(twoEndings)('a warehouse that answers nothing while it runs: %s', async (signal, code) => {
    const twins = await startTwins({
      DRAIN_MS: String(drainMs),
      NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --import ${planted}`,
    });
    onTestFinished(twins.stop);
    twins.warehouse.interfere(() => 'hang');
    const before = twins.warehouse.asked.length;
    const answer = twins.overBigQuery.get(logs).catch(String);
    // Its query has left for the warehouse.
    await vi.waitFor(() => expect(twins.warehouse.asked.length).toBeGreaterThan(before));
    const tookMs = startLoopClock();
    process.kill(twins.overBigQuery.pid, signal);
    if (code === 0) expect(await answer).toMatchObject({ status: 503 });
    expect(await twins.overBigQuery.ended).toMatch(new RegExp(`^${code}:`));
    expect(tookMs()).toBeLessThan(drainMs + slackMs);
  });
});
