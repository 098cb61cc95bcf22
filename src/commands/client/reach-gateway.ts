import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { systemClock } from '../../base/clock.ts';
import { GatewayError } from '../../base/errors.ts';
import { readConfig } from '../../composition/config.ts';
import { sampleTokenName } from '../../composition/prepare-data.ts';
import { UsageError } from '../command-line.ts';
import { readProfile } from './profiles.ts';

/** A gateway that answers, and a token that it accepts. */
export type Reached = {
  /** The base URL of requests, without a trailing slash. It may have a path, for a gateway behind a proxy. */
  readonly url: string;
  readonly token: string;
  close(): Promise<void>;
};

/** The options that name a gateway. */
export type Address = {
  readonly url?: string | undefined;
  readonly token?: string | undefined;
  readonly profile?: string | undefined;
};

/**
 * Reaches a gateway: the first of `--url`, `--profile`, the environment (`GATEWAY_URL`, `SQG_PROFILE`) and the default of the user's
 * profiles. Without any of these, one is opened in this process, over the engine and the data of the configuration; it listens on the
 * loopback interface with a token of its own.
 * @throws UsageError, ConfigError, GatewayError, and as `composeGateway`
 */
export async function reachGateway(
  environment: NodeJS.ProcessEnv,
  given: Address,
  note: (line: string) => void = () => undefined,
): Promise<Reached> {
  const named = given.profile ?? (environment.SQG_PROFILE || undefined);
  // An empty option, for instance from an unset shell variable, must not fall back to the rows that are here.
  const environmentUrl = given.profile === undefined ? environment.GATEWAY_URL || undefined : undefined;
  const ownUrl = given.url ?? environmentUrl;
  const profile = await readProfile(environment, named, note);
  const address = ownUrl ?? profile?.url;
  if (address === undefined) return openOwnGateway(environment);
  const url = baseOf(address);
  // A profile's token is sent only to its own gateway.
  const kept = profile && baseOf(profile.url) === url ? profile.token : undefined;
  // ACCESS_TOKEN belongs to a gateway of this environment.
  const ofEnvironment = environment.GATEWAY_TOKEN || (ownUrl && environment.ACCESS_TOKEN);
  const token = given.token ?? (ownUrl ? ofEnvironment || kept : kept || ofEnvironment);
  if (!token) {
    const file = join(environment.DATA_DIR || '.data', sampleTokenName);
    const own = existsSync(file) ? `; the gateway that first started here has that of ${file}` : '';
    throw new GatewayError(
      'unauthorized',
      `There is no token: --token, GATEWAY_TOKEN in the environment, or a profile${own}`,
    );
  }
  // No header can have other characters, such as the quotes of a text that a token was copied from.
  if (!/^[ -~]+$/.test(token)) {
    throw new UsageError(
      'The token has characters that no token has; allowed: letters, digits and signs of ASCII',
    );
  }
  return { url, token, close: async () => undefined };
}

/** @throws UsageError */
function baseOf(address: string): string {
  if (URL.canParse(address)) {
    const { protocol, origin, pathname } = new URL(address);
    if (/^https?:$/.test(protocol)) return origin + pathname.replace(/\/+$/, '');
  }
  throw new UsageError(
    `The address of the gateway is ${JSON.stringify(address)}; allowed: http://… or https://…`,
  );
}

async function openOwnGateway(environment: NodeJS.ProcessEnv): Promise<Reached> {
  const own = { HOST: '127.0.0.1', PORT: '0', COMPAT: '', WARM_IN_PROCESS: 'false', METRICS_NEED_TOKEN: '' };
  // Read as the gateway itself would, because its data are used.
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
