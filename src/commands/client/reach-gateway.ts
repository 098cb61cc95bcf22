import { randomBytes } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { systemClock } from '../../base/clock.ts';
import { readConfig } from '../../composition/config.ts';
import { UsageError } from '../command-line.ts';

/** A gateway that answers, and a token that it accepts. */
export type Reached = {
  /** Without a path. */
  readonly url: string;
  readonly token: string;
  close(): Promise<void>;
};

/** Where to ask; absent members are read from the environment. */
export type Address = { readonly url?: string | undefined; readonly token?: string | undefined };

/**
 * Reaches the gateway of `--url` or `GATEWAY_URL`. Without either, one is opened in this process, over the engine and the data that the
 * configuration names; it listens on the loopback interface with a token of its own.
 * @throws UsageError, ConfigError, and as `composeGateway`
 */
export async function reachGateway(environment: NodeJS.ProcessEnv, given: Address): Promise<Reached> {
  const url = given.url ?? environment.GATEWAY_URL;
  if (!url) return openOwnGateway(environment);
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    throw new UsageError(
      `The address of the gateway is ${JSON.stringify(url)}; allowed: http://… or https://…`,
    );
  }
  const token = given.token ?? (environment.GATEWAY_TOKEN || environment.ACCESS_TOKEN);
  if (!token) throw new UsageError('There is no token: --token, or GATEWAY_TOKEN in the environment');
  return { url: new URL(url).origin, token, close: async () => undefined };
}

async function openOwnGateway(environment: NodeJS.ProcessEnv): Promise<Reached> {
  const own = { HOST: '127.0.0.1', PORT: '0', COMPAT: '', WARM_IN_PROCESS: 'false', METRICS_NEED_TOKEN: '' };
  // As the gateway itself has it, for its data are here.
  const { SAMPLE_ROWS, SQL_DIR } = readConfig(environment);
  const config = readConfig({ ...environment, ...own, SAMPLE_ROWS: String(SAMPLE_ROWS), SQL_DIR });
  const [{ composeGateway }, { prepareData }] = await Promise.all([
    import('../../composition/composition-root.ts'),
    import('../../composition/prepare-data.ts'),
  ]);
  const [clock, emit, token] = [systemClock, () => undefined, randomBytes(24).toString('base64url')];
  await prepareData(config, { clock, emit, onProgress: () => undefined });
  const { server, close } = await composeGateway(config, { clock, emit, accessToken: token });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(config.PORT, config.HOST, resolve);
  });
  const { port } = server.address() as AddressInfo; // it listens on TCP
  return { url: `http://127.0.0.1:${port}`, token, close: () => close() };
}
