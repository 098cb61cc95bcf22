import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { issueToken, revokeToken } from '../../src/auth/manage-tokens.ts';
import type { TokenGrants } from '../../src/auth/token-record.ts';
import { runTokenCommand } from '../../src/commands/token-command.ts';
import { databasePath } from '../../src/composition/compose-engine.ts';
import { openCommandTokens } from '../../src/composition/compose-tokens.ts';
import { composeGateway } from '../../src/composition/composition-root.ts';
import { readConfig } from '../../src/composition/config.ts';
import { importLogs } from '../../src/duckdb/import-logs.ts';
import type { EndpointDefinition } from '../../src/endpoints/definition.ts';
import type { Source } from '../../src/endpoints/source.ts';
import { ownSources, readSources } from '../../src/endpoints/sources.ts';
import type { Engine } from '../../src/engine/engine.ts';
import type { PageSample } from '../../src/http/answer-sample.ts';
import type { GatewayEvent } from '../../src/telemetry/events.ts';
import { drawSettings } from './draw-settings.ts';
import { startRedisServer } from './redis-server.ts';
import { createStandingClock } from './standing-clock.ts';

type OpenGatewayOptions = {
  /** Rows by source, as an importer sends them. */
  rows?: Readonly<Record<string, readonly object[]>>;
  /** Fills the data folder, in the place of `rows`. */
  fill?: (directory: string) => Promise<void>;
  /** Where the clock stands; ISO 8601. */
  now?: string;
  /** Further sources by file, beside those of the repository; `files` of them lie in the same folder. */
  sources?: Readonly<Record<string, string>>;
  /** Further saved queries beside the two of the repository; over a fake engine they are the only ones. */
  sqlFiles?: Readonly<Record<string, string>>;
  /** Takes the place of the embedded engine: for what that can't say, such as what a query cost. */
  engine?: FakeEngine;
  /** What the page of a first start gets without a token. */
  pageSample?: PageSample;
  /** Free bytes of the disk. Default: as many as there are. */
  freeBytes?: () => number;
  /** Issued tokens by name, beside `testToken`. */
  tokens?: Readonly<Record<string, TokenGrants>>;
  /** What the test needs; of the rest some is drawn (draw-settings.ts). */
  environment?: Readonly<Record<string, string>>;
};

/** What the test plays of an engine; without `explain` it has none. */
type FakeEngine = Pick<Engine, 'describe' | 'run'> &
  Partial<Pick<Engine, 'explain' | 'usage' | 'subsets' | 'tablesVersion'>>;

export type Answered = {
  readonly status: number;
  readonly headers: Headers;
  /** The parsed JSON, for tests to look into. */
  // biome-ignore lint/suspicious/noExplicitAny: a test asserts on what it finds
  readonly body: any;
  readonly text: string;
};

export type OpenGateway = Awaited<ReturnType<typeof openGateway>>;

/** The token that `get`, `send` and `graphql` present. */
export const testToken = 'the-token-of-the-tests';

/**
 * Opens a whole gateway for a test: its own data folder, a real engine process over the given rows, a real HTTP server
 * on a free port, and a clock that stands still. Settings that no caller may notice, a Redis among them, are drawn.
 */
export async function openGateway(options: OpenGatewayOptions) {
  const { rows = {}, now, sources = {}, sqlFiles = {}, tokens = {}, environment = {} } = options;
  const directory = await mkdtemp(join(tmpdir(), 'gateway-'));
  const engine = options.engine && {
    explain: refuse,
    subsets: async () => [],
    tablesVersion: async () => '',
    usage: () => ({ waiting: 0, memoryBytes: 0 }),
    check: async () => [],
    close: async () => undefined,
    ...options.engine,
  };
  if (engine) await mkdir(join(directory, 'sql'));
  else await cp(new URL('../../sql', import.meta.url), join(directory, 'sql'), { recursive: true });
  for (const [file, text] of Object.entries(sqlFiles)) await writeFile(join(directory, 'sql', file), text);
  const sourcesDirectory = join(directory, 'sources');
  await cp(ownSources, sourcesDirectory, { recursive: true });
  for (const [file, text] of Object.entries(sources)) await writeFile(join(sourcesDirectory, file), text);
  const drawn = drawSettings(environment);
  const redis = drawn.isOnRedis ? await startRedisServer() : undefined;
  const config = readConfig({
    ...(redis && { REDIS_URL: redis.url }),
    // On a busy machine a Redis that is there may answer after the 50 ms of the default.
    REDIS_TIMEOUT_MS: '1000',
    // The engine's processes have the lower priority: beside others that have work, a second becomes a minute.
    QUERY_TIMEOUT_MS: '300000',
    DATA_DIR: directory,
    SQL_DIR: join(directory, 'sql'),
    SOURCES_DIR: sourcesDirectory,
    PORT: '0',
    ...drawn.environment,
  });
  if (options.fill) await options.fill(directory);
  else if (!engine) await importRows(databasePath(config), readSources(sourcesDirectory), rows);
  const clock = createStandingClock(now);
  const commandTokens = await openCommandTokens(config);
  const issued = new Map<string, string>();
  for (const [name, allowed] of Object.entries(tokens)) {
    issued.set(name, await issueToken(commandTokens.records, { clock, name, ...allowed }));
  }
  const events: GatewayEvent[] = [];
  let wake = () => {};
  const emit = (event: GatewayEvent) => {
    events.push(event);
    wake();
  };
  const { pageSample, freeBytes } = options;
  const gateway = await composeGateway(config, {
    clock,
    emit,
    accessToken: testToken,
    pageSample,
    engine,
    ...(freeBytes && { freeBytes: { read: freeBytes, close: async () => undefined } }),
  });
  await new Promise<void>(resolve => gateway.server.listen(0, '127.0.0.1', resolve));
  const { port } = gateway.server.address() as AddressInfo; // it listens on TCP
  const origin = `http://127.0.0.1:${port}`;

  async function send(path: string, init: RequestInit = {}): Promise<Answered> {
    const headers = new Headers(init.headers);
    if (!headers.has('x-api-key') && !headers.has('authorization')) headers.set('x-api-key', testToken);
    if (headers.get('x-api-key') === '') headers.delete('x-api-key');
    if (!headers.has('accept-encoding')) headers.set('accept-encoding', drawn.acceptEncoding);
    const response = await fetch(origin + path, { ...init, headers });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: text === '' ? undefined : JSON.parse(text),
    };
  }

  return {
    origin,
    port,
    directory,
    clock,
    events,
    server: gateway.server,
    http: gateway.http,
    send,
    get: (path: string, headers: Record<string, string> = {}) => send(path, { headers }),
    graphql: (query: string, variables: object = {}, headers: Record<string, string> = {}) =>
      send('/graphql', {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ query, variables }),
      }),
    /** An issued token. */
    token(name: string): string {
      const found = issued.get(name);
      if (found === undefined) throw new Error(`no token ${name}`);
      return found;
    },
    /** Issues a further token; it is accepted from now on. */
    async issue(grants: TokenGrants = {}): Promise<string> {
      const token = await issueToken(commandTokens.records, { name: 'a test', clock, ...grants });
      await gateway.tokens.refresh();
      return token;
    },
    /** Revokes an issued token, as the command does: the gateway has to find out. */
    async revoke(token: string): Promise<void> {
      await revokeToken(commandTokens.records, { id: token.slice(4, 12), clock });
    },
    /** Runs `npm run token`, whose change is known here from now on. */
    async tokenCommand(...args: string[]): Promise<void> {
      const ignore = () => undefined;
      await runTokenCommand(
        { ...commandTokens, savedQueries: async () => undefined, clock, print: ignore, note: ignore },
        args,
      );
      await gateway.tokens.refresh();
    },
    endpoint(name: string): EndpointDefinition {
      const found = gateway.endpoints.find(name);
      if (!found) throw new Error(`no endpoint ${name}`);
      return found;
    },
    /** The process that runs the queries now. */
    enginePid(): number {
      const started = events.findLast(event => event.type === 'engine.started');
      if (!started?.pid) throw new Error('no engine has started');
      return started.pid;
    },
    /** Resolves with the first event of this type, past or to come. */
    async event<T extends GatewayEvent['type']>(type: T): Promise<Extract<GatewayEvent, { type: T }>> {
      for (;;) {
        const found = events.find(event => event.type === type);
        if (found) return found as Extract<GatewayEvent, { type: T }>; // its type was just compared
        await new Promise<void>(resolve => {
          wake = resolve;
        });
      }
    },
    /** Resolves when this holds. */
    async until(holds: () => boolean): Promise<void> {
      while (!holds()) await new Promise(resolve => setTimeout(resolve, 5));
    },
    async close() {
      commandTokens.close();
      await gateway.close();
      await redis?.stop();
      await rm(directory, { recursive: true });
    },
  };
}

async function refuse(): Promise<never> {
  throw new Error('the engine of this test explains nothing');
}

async function importRows(
  path: string,
  sources: readonly Source[],
  rows: Readonly<Record<string, readonly object[]>>,
): Promise<void> {
  for (const [source, list] of Object.entries({ 'cloudflare.logs.prod': [], ...rows })) {
    const input = Readable.from(list.map(row => `${JSON.stringify(row)}\n`));
    await importLogs({ databasePath: path, sources, source, input });
  }
}
