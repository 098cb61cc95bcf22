import type { AddressInfo } from 'node:net';
import { systemClock } from '../base/clock.ts';
import { SetupError } from '../base/setup-error.ts';
import { readSourceFolder } from '../endpoints/sources.ts';
import type { PageSample } from '../http/answer-sample.ts';
import { composeGateway } from './composition-root.ts';
import { type Config, ConfigError } from './config.ts';
import { prepareData } from './prepare-data.ts';
import { createProgressBar } from './progress-bar.ts';
import { type ProcessDeps, type Running, runProcess } from './run-process.ts';
import { welcome } from './welcome.ts';

/**
 * Runs a gateway until SIGINT or SIGTERM: prepares the data, listens, and prints how to call it.
 * A start that fails prints why in plain words and exits with 1.
 */
export function startGateway(environment: NodeJS.ProcessEnv): Promise<void> {
  return runProcess({ name: 'gateway', environment, explain }, start);
}

async function start(config: Config, { emit, log, print }: ProcessDeps): Promise<Running> {
  const drawProgress = createProgressBar(process.stderr, 'Writing sample data');
  const { accessToken, isOwnToken, sampleProject } = await prepareData(config, {
    clock: systemClock,
    emit,
    onProgress: progress => {
      if (progress.total >= minProgressRows) drawProgress(progress);
    },
  });
  const pageSample = isOwnToken ? sampleForPage(config, accessToken, sampleProject) : undefined;
  const gateway = await composeGateway(config, { clock: systemClock, emit, accessToken, pageSample, log });
  await new Promise<void>((resolve, reject) => {
    gateway.server.once('error', reject);
    gateway.server.listen(config.PORT, config.HOST, resolve);
  });
  // `address` is null or a string only for servers that listen on no TCP port.
  const { address, port, family } = gateway.server.address() as AddressInfo;
  const origin = `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
  gateway.growSample();
  const endpoints = gateway.endpoints.all().map(({ name }) => name);
  const broken = [...gateway.endpoints.broken, ...readSourceFolder(config.SOURCES_DIR).broken];
  const brokenFiles = broken.map(({ file }) => file);
  print(welcome(config, { origin, token: accessToken, project: sampleProject, endpoints, brokenFiles }));
  return {
    stop: signal =>
      gateway.close({ deadlineMs: config.DRAIN_MS, quietMs: signal === 'SIGTERM' ? quietMs : 0 }),
  };
}

/** What the page may read without a token (decision 70): only on a loopback address, where the start prints the same token. */
function sampleForPage(
  { HOST, NODE_ENV, ENGINE }: Config,
  token: string | undefined,
  project: string,
): PageSample | undefined {
  const isOnLoopback = /^(?:localhost|127\.\d+\.\d+\.\d+|::1)$/i.test(HOST);
  if (!token || !isOnLoopback || NODE_ENV === 'production') return undefined;
  return { token, parameters: ENGINE === 'duckdb' ? { project } : {} };
}

/** Milliseconds without a new connection after which a stopping gateway accepts no more. */
const quietMs = 500;

/** Fewer sample rows are written before a progress bar could be read. */
const minProgressRows = 5000;

/** Explains why a start failed: by the message of an expected failure, by the stack of a bug. */
function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code } = error as NodeJS.ErrnoException; // absent on other errors
  if (code === 'EADDRINUSE') return `${error.message}. Choose another port: PORT=4001 npm start`;
  const isForeseen =
    code !== undefined ||
    [Error, AggregateError, ConfigError, SetupError].some(type => error.constructor === type);
  return isForeseen ? error.message : (error.stack ?? error.message);
}
