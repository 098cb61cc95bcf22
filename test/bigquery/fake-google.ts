import { execFile } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TLSSocket } from 'node:tls';
import { promisify } from 'node:util';
import { openWarehouse, type Script } from './scripted-warehouse.ts';
import { type Interference, refusal } from './warehouse-http.ts';

/** What BigQuery says to a token that is not, or not any more, good. */
const invalidCredentials = refusal(401, 'authError', 'Request had invalid authentication credentials.');

/** Key file of a service account, `gcloud` login, identity of another cloud, or service account of the machine itself. */
export type CredentialsKind = 'key' | 'login' | 'workload' | 'machine';

/** A fake of BigQuery itself, without credentials and without TLS. */
type PlainWarehouse = {
  readonly url: string;
  interfere(rule: Interference): void;
  close(): void;
};

type GoogleOptions = {
  readonly kind?: CredentialsKind;
  /** The universe that the credentials are of, which has a domain of its own. Default: Google's, `googleapis.com`. */
  readonly universe?: string;
};

/** A scripted warehouse, at Google. */
export async function openGoogle(script: Script, kind?: CredentialsKind) {
  return fakeGoogle(await openWarehouse(script), kind ? { kind } : {});
}

/**
 * Fakes Google as a whole, under its own host names: a proxy that speaks TLS for `bigquery.googleapis.com`, for regional and
 * private endpoints and for another universe's, where the warehouse answers who has a good token, and for `oauth2.googleapis.com`
 * and the like, which give tokens `t1`, `t2`, … for an hour.
 * @returns among others the environment that has a process go there, with credentials
 */
export async function fakeGoogle<Warehouse extends PlainWarehouse>(
  warehouse: Warehouse,
  { kind = 'key', universe = 'googleapis.com' }: GoogleOptions = {},
) {
  const directory = await mkdtemp(join(tmpdir(), 'google-'));
  const { cert, key, certFile } = await makeCertificate(directory, universe);

  let given = 0;
  let refusedTokens: ReadonlySet<string> = new Set();
  let refusesCredentials = false;
  let refusals = 0;
  const tokenServer = createServer((request, response) => {
    request.resume();
    // A process asks for other things to see whether it is on one of Google's machines.
    const isForToken = request.url?.endsWith('token') || request.url?.includes('token?');
    const answer = refusesCredentials
      ? { error: 'invalid_grant', error_description: 'Invalid JWT Signature.' }
      : isForToken && { access_token: `t${++given}`, expires_in: 3600, token_type: 'Bearer' };
    response.writeHead(refusesCredentials ? 400 : 200, {
      'content-type': 'application/json',
      'metadata-flavor': 'Google',
    });
    response.end(JSON.stringify(answer));
  });
  let interfere: Interference = () => undefined;
  warehouse.interfere(asked => {
    const token = asked.authorization?.replace('Bearer ', '');
    // Each later than the one before: by then, its token may have been replaced.
    if (token === undefined || refusedTokens.has(token))
      return { ...invalidCredentials, afterMs: 20 * refusals++ };
    return interfere(asked);
  });
  const tokenPort = await listen(tokenServer);
  const warehousePort = Number(new URL(warehouse.url).port);
  const portOf = (host: string) => {
    if (/^bigquery[a-z\d.-]+:443$/.test(host)) return warehousePort;
    return /^(oauth2|sts)\.googleapis\.com:443$/.test(host) ? tokenPort : undefined;
  };

  let connections = 0;
  const proxy = createServer();
  const sockets = new Set<Socket>();
  proxy.on('connect', ({ url = '' }, socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    const port = portOf(url);
    if (!port) return socket.destroy();
    if (port === warehousePort) connections += 1;
    socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
    const inner = new TLSSocket(socket, { isServer: true, cert, key });
    const server = connect(port, '127.0.0.1');
    inner.on('error', () => server.destroy()).pipe(server);
    server.on('error', () => inner.destroy()).pipe(inner);
  });

  const environment: Record<string, string> = {
    HTTPS_PROXY: `http://127.0.0.1:${await listen(proxy)}`,
    ...(await giveCredentials(kind, directory, { tokenPort, universe })),
    NODE_EXTRA_CA_CERTS: certFile,
  };
  return {
    ...warehouse,
    environment,
    /** The authority to trust, PEM. */
    cert,
    /** Tokens that were given out. */
    given: () => given,
    /** Connections to BigQuery that were made. */
    connections: () => connections,
    /** From now on BigQuery takes none of these. */
    refuseTokens(...tokens: string[]) {
      refusedTokens = new Set(tokens);
    },
    /** From now on the credentials are worth nothing, and give no token. */
    refuseCredentials() {
      refusesCredentials = true;
    },
    interfere(rule: Interference) {
      interfere = rule;
    },
    async close() {
      for (const server of [proxy, tokenServer]) {
        server.closeAllConnections();
        server.close();
      }
      for (const socket of sockets) socket.destroy();
      warehouse.close();
      await rm(directory, { recursive: true });
    },
  };
}

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port; // it listens on TCP
}

async function makeCertificate(directory: string, universe: string) {
  const [certFile, keyFile] = [join(directory, 'cert.pem'), join(directory, 'key.pem')];
  const domains = ['googleapis.com', 'europe-west3.rep.googleapis.com', 'p.googleapis.com', universe];
  const hosts = domains.map(domain => `DNS:*.${domain}`);
  const names = ['-subj', '/CN=googleapis.com', '-addext', `subjectAltName=${hosts.join(',')}`];
  const made = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
  const files = ['-keyout', keyFile, '-out', certFile];
  await promisify(execFile)('openssl', ['req', '-x509', ...made, ...files, ...names]);
  return { certFile, cert: await readFile(certFile, 'utf8'), key: await readFile(keyFile, 'utf8') };
}

/** The environment that a process finds its credentials by. */
async function giveCredentials(
  kind: CredentialsKind,
  directory: string,
  { tokenPort, universe }: { readonly tokenPort: number; readonly universe: string },
): Promise<Record<string, string>> {
  // Nothing of this machine's own is found.
  const elsewhere = { CLOUDSDK_CONFIG: directory, NO_PROXY: '127.0.0.1' };
  if (kind === 'machine') {
    const host = `127.0.0.1:${tokenPort}`;
    return { ...elsewhere, GCE_METADATA_HOST: host, GOOGLE_APPLICATION_CREDENTIALS: '' };
  }
  const file = join(directory, 'credentials.json');
  const credentials = await credentialsFile(kind, directory);
  await writeFile(file, JSON.stringify({ ...credentials, universe_domain: universe }));
  return { ...elsewhere, GOOGLE_APPLICATION_CREDENTIALS: file };
}

async function credentialsFile(
  kind: Exclude<CredentialsKind, 'machine'>,
  directory: string,
): Promise<object> {
  if (kind === 'login')
    return { type: 'authorized_user', client_id: 'c', client_secret: 's', refresh_token: 'r' };
  if (kind === 'workload') {
    const subject = join(directory, 'subject');
    await writeFile(subject, 'a token of another cloud');
    return {
      type: 'external_account',
      audience: '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/a/providers/b',
      subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
      token_url: 'https://sts.googleapis.com/v1/token',
      credential_source: { file: subject },
    };
  }
  const { privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  const email = 'gateway@payer.iam.gserviceaccount.com';
  return { type: 'service_account', private_key: privateKey, client_email: email };
}
