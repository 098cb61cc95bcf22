import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { issueToken } from '../../src/auth/token-file.ts';
import { createTokens } from '../../src/auth/tokens.ts';
import type { RunQuery } from '../../src/batch/batch-queries.ts';
import { statementOf } from '../../src/batch/endpoint-query.ts';
import { createCache } from '../../src/cache/cache.ts';
import { createSingleFlight } from '../../src/cache/single-flight.ts';
import { createEndpointRegistry } from '../../src/endpoints/registry.ts';
import type { Engine } from '../../src/engine/engine.ts';
import { createGraphqlHandler } from '../../src/graphql/answer-graphql.ts';
import { createHttpServer } from '../../src/http/http-server.ts';
import { createRunStatement } from '../../src/pipeline/run-statement.ts';
import { redactionKinds } from '../../src/redaction/redaction-kinds.ts';
import { createRedactor } from '../../src/redaction/redactor.ts';
import { createMemoryStore } from '../../src/store/memory-store.ts';
import type { GatewayEvent } from '../../src/telemetry/events.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { createMemorySchedule } from '../../src/warming/memory-schedule.ts';
import { createStandingClock } from './standing-clock.ts';

type OpenDoorsOptions = {
  /** Texts of the saved queries by file name. */
  readonly sqlFiles: Readonly<Record<string, string>>;
  readonly engine: Pick<Engine, 'run' | 'explain'>;
  /** Milliseconds one query may take. Default 5000. */
  readonly queryTimeoutMs?: number;
};

type TokenOptions = Omit<Parameters<typeof issueToken>[0], 'file' | 'clock' | 'name'>;

/** Opens both doors over an engine that the test plays: for what an embedded engine can't say, such as what a query cost. */
export async function openDoors({ sqlFiles, engine, queryTimeoutMs = 5000 }: OpenDoorsOptions) {
  const directory = await mkdtemp(join(tmpdir(), 'doors-'));
  for (const [file, text] of Object.entries(sqlFiles)) await writeFile(join(directory, file), text);
  const clock = createStandingClock();
  const events: GatewayEvent[] = [];
  const metrics = createMetrics();
  const emit = (event: GatewayEvent) => {
    events.push(event);
    metrics.observe(event);
  };
  const file = join(directory, 'tokens.json');
  const tokens = await createTokens({ file, hashes: [], accessToken: undefined, clock, emit });
  const endpoints = await createEndpointRegistry({
    directory,
    check: async () => undefined,
    emit,
    watch: false,
  });
  const store = createMemoryStore({ maxBytes: 1_000_000, clock });
  const cache = createCache({ store, memoryBytes: 1_000_000, clock, emit });
  const sharedRuns: Parameters<typeof createHttpServer>[0]['pipeline']['sharedRuns'] = createSingleFlight();
  const runStatement = createRunStatement({ engine, emit, queryTimeoutMs });
  const runQuery: RunQuery = (query, options) => runStatement(statementOf(query), options);
  const redaction = { redactKinds: redactionKinds, redactor: createRedactor() };
  const runs = { engine, runStatement, runQuery, sharedRuns, queryTimeoutMs };
  const pipeline = { tokens, endpoints, cache, clock, emit, ...runs, ...redaction };
  const { server } = createHttpServer({
    pipeline,
    schedule: createMemorySchedule({ clock, maxKeys: 1 }),
    graphql: createGraphqlHandler({
      pipeline,
      endpoints,
      graphiql: false,
      onFault: (requestId, cause) => emit({ type: 'http.bug', requestId, cause }),
    }),
    metrics: async () => ({ status: 200, headers: {}, body: Buffer.from(await metrics.render()) }),
    openapi: () => Buffer.from('{}'),
    health: () => ({ isReady: true, reasons: [] }),
    limits: {
      receiveTimeoutMs: 5000,
      sendTimeoutMs: 5000,
      maxUnreadBytes: 1_000_000,
      maxConnections: 100,
    },
    cors: { origins: ['*'] },
    compat: 'none',
    emit,
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // it listens on TCP
  return {
    clock,
    events,
    server,
    store,
    /** Issues a token; it is accepted from now on. */
    async token(options: TokenOptions = {}): Promise<string> {
      const token = await issueToken({ file, clock, name: 'a test', ...options });
      await tokens.refresh();
      return token;
    },
    fetch: (path: string, init?: RequestInit) => fetch(`http://127.0.0.1:${port}${path}`, init),
    async close() {
      await new Promise(resolve => {
        server.close(resolve);
        server.closeAllConnections();
      });
      endpoints.close();
      tokens.close();
      await redaction.redactor.close();
      await cache.close();
      await rm(directory, { recursive: true });
    },
  };
}
