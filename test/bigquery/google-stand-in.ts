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
import { type Interference, refusal } from './warehouse-wire.ts';

/** What BigQuery says to a token that is not, or not any more, good. */
const invalidCredentials = refusal(401, 'authError', 'Request had invalid authentication credentials.');

/**
 * Stands in for Google as a whole, under its own names: a proxy that speaks TLS for `bigquery.googleapis.com`, which does as
 * the script says for who has a good token, and for `oauth2.googleapis.com`, which gives tokens `t1`, `t2`, … for an hour.
 * @returns among others the environment that has a process go there, with the key file of a service account
 */
export async function openGoogle(script: Script) {
  const directory = await mkdtemp(join(tmpdir(), 'google-'));
  const { cert, key, certFile } = await makeCertificate(directory);
  const keyFile = join(directory, 'account.json');
  await writeFile(keyFile, JSON.stringify(serviceAccount()));

  let given = 0;
  let refusedTokens: ReadonlySet<string> = new Set();
  let refusesKey = false;
  const tokenServer = createServer((request, response) => {
    request.resume();
    const answer = refusesKey
      ? { error: 'invalid_grant', error_description: 'Invalid JWT Signature.' }
      : { access_token: `t${++given}`, expires_in: 3600, token_type: 'Bearer' };
    response.writeHead(refusesKey ? 400 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer));
  });
  const warehouse = await openWarehouse(script);
  let interfere: Interference = () => undefined;
  warehouse.interfere(asked => {
    const token = asked.authorization?.replace('Bearer ', '');
    if (token === undefined || refusedTokens.has(token)) return invalidCredentials;
    return interfere(asked);
  });
  const ports: Record<string, string> = {
    'bigquery.googleapis.com:443': new URL(warehouse.url).port,
    'oauth2.googleapis.com:443': String(await listen(tokenServer)),
  };

  const proxy = createServer();
  const sockets = new Set<Socket>();
  proxy.on('connect', ({ url = '' }, socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    const port = ports[url];
    if (!port) return socket.destroy();
    socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
    const inner = new TLSSocket(socket, { isServer: true, cert, key });
    const server = connect(Number(port), '127.0.0.1');
    inner.on('error', () => server.destroy()).pipe(server);
    server.on('error', () => inner.destroy()).pipe(inner);
  });

  return {
    ...warehouse,
    environment: {
      HTTPS_PROXY: `http://127.0.0.1:${await listen(proxy)}`,
      GOOGLE_APPLICATION_CREDENTIALS: keyFile,
      NODE_EXTRA_CA_CERTS: certFile,
    },
    /** The authority to trust, PEM. */
    cert,
    /** Tokens that were given out. */
    given: () => given,
    /** From now on BigQuery takes none of these. */
    refuseTokens(...tokens: string[]) {
      refusedTokens = new Set(tokens);
    },
    /** From now on the key of the account is worth nothing, and gives no token. */
    refuseKey() {
      refusesKey = true;
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

async function makeCertificate(directory: string) {
  const [certFile, keyFile] = [join(directory, 'cert.pem'), join(directory, 'key.pem')];
  const names = ['-subj', '/CN=googleapis.com', '-addext', 'subjectAltName=DNS:*.googleapis.com'];
  const made = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
  const files = ['-keyout', keyFile, '-out', certFile];
  await promisify(execFile)('openssl', ['req', '-x509', ...made, ...files, ...names]);
  return { certFile, cert: await readFile(certFile, 'utf8'), key: await readFile(keyFile, 'utf8') };
}

function serviceAccount(): object {
  const { privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  return {
    type: 'service_account',
    project_id: 'payer',
    private_key_id: 'k1',
    private_key: privateKey,
    client_email: 'gateway@payer.iam.gserviceaccount.com',
    client_id: '1',
  };
}
