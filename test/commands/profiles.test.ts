import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { profilesFile } from '../../src/commands/client/profiles.ts';
import { type Address, reachGateway } from '../../src/commands/client/reach-gateway.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const file = `
profile: local
profiles:
  local: { url: http://127.0.0.1:4000, token: of-local }
  prod: { url: https://logs.example.com/, token: of-prod }
  open: { url: http://127.0.0.1:4001 }
`;

/** Reaches a gateway with this file of profiles, and the given environment. */
async function reach(given: Address, environment: Record<string, string> = {}, text = file, mode = 0o600) {
  const home = await temporaryDirectory();
  const own = { HOME: home, ...environment };
  const path = profilesFile(own);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
  await chmod(path, mode);
  const notes: string[] = [];
  const { url, token } = await reachGateway(own, given, line => notes.push(line));
  return { url, token, notes };
}

describe('a profile', () => {
  const environment = { GATEWAY_URL: 'http://127.0.0.1:4002', GATEWAY_TOKEN: 'of-environment' };
  const cases: [what: string, given: Address, environment: Record<string, string>, url: string, token: string][] = [
    ['the file’s own choice', {}, {}, 'http://127.0.0.1:4000', 'of-local'],
    ['by option', { profile: 'prod' }, {}, 'https://logs.example.com', 'of-prod'],
    ['by environment', {}, { SQG_PROFILE: 'prod' }, 'https://logs.example.com', 'of-prod'],
    ['an option before the environment', { profile: 'prod' }, { ...environment, SQG_PROFILE: 'local' }, 'https://logs.example.com', 'of-prod'],
    ['an address of the environment before the file', {}, environment, 'http://127.0.0.1:4002', 'of-environment'],
    ['a token of its own', { profile: 'prod', token: 'mine' }, {}, 'https://logs.example.com', 'mine'],
    ['a token of the environment where it has none', { profile: 'open' }, { GATEWAY_TOKEN: 't' }, 'http://127.0.0.1:4001', 't'],
    ['a path that a proxy has it below', { url: 'https://logs.example.com/sqg/', token: 't' }, {}, 'https://logs.example.com/sqg', 't'],
    ['the same address by option', { url: 'http://127.0.0.1:4000/' }, {}, 'http://127.0.0.1:4000', 'of-local'],
  ]; // biome-ignore format: a table

  test.each(cases)('%s', async (_what, given, own, url, token) => {
    expect(await reach(given, own)).toEqual({ url, token, notes: [] });
  });

  test('the token of a gateway that runs here goes to no other address', async () => {
    const environment = { ACCESS_TOKEN: 'of-ours' };
    await expect(reach({ profile: 'open' }, environment)).rejects.toThrow('There is no token');
  });

  test('its token goes to no other address', async () => {
    await expect(reach({ url: 'http://127.0.0.1:4009' })).rejects.toThrow('There is no token');
    await expect(reach({ url: 'http://127.0.0.1:4009', profile: 'prod' })).rejects.toThrow(
      'There is no token',
    );
    // Below another path there is another gateway.
    await expect(reach({ url: 'http://127.0.0.1:4000/other' })).rejects.toThrow('There is no token');
  });

  test.each([
    [{ profile: 'prd' }, file, 'has no profile "prd"; allowed: local, prod, open; Did you mean prod?'],
    [{}, 'profiles: [', 'it is not YAML'],
    [{}, 'profiles: { a: { url: "http://x", tokn: "secret-1" } }', 'profiles.a: '],
    [{ profile: '__proto__' }, file, 'has no profile'],
    [{ profile: 'a' }, 'profiles: { a: { url: "nowhere" } }', 'The address of the gateway is "nowhere"'],
    [{ url: '' }, file, 'The address of the gateway is ""'],
  ])('a mistake is explained: %j in %j', async (given, text, message) => {
    const refused = reach(given, {}, text);
    await expect(refused).rejects.toThrow(message);
    await expect(refused).rejects.not.toThrow('secret-1');
  });

  test('a file that can not be read is no reason to ask another gateway', async () => {
    const home = await temporaryDirectory();
    const environment = { HOME: home };
    // A folder is what no user can read as a file, root neither.
    await mkdir(profilesFile(environment), { recursive: true });
    await expect(reachGateway(environment, {}, () => undefined)).rejects.toThrow(
      /config\.yaml can not be read: EISDIR/,
    );
  });

  test('a file with a token that others can read is mentioned', async () => {
    const { notes } = await reach({}, {}, file, 0o644);
    expect(notes).toEqual([expect.stringMatching(/^Other users can read .*: chmod 600 /)]);
  });

  test('the folder is that of XDG', () => {
    expect(profilesFile({ XDG_CONFIG_HOME: '/x', HOME: '/h' })).toBe('/x/sqg/config.yaml');
    expect(profilesFile({ HOME: '/h' })).toBe('/h/.config/sqg/config.yaml');
  });
});

describe('a gateway of which no whole answer comes', () => {
  const cli = fileURLToPath(new URL('../../src/cli.ts', import.meta.url));

  /** Runs `query` against a server of the test; what it printed, until it ended. */
  async function query(url: string, onOut?: (child: ReturnType<typeof spawn>) => void, format = 'csv') {
    const child = spawn(process.execPath, [cli, 'query', 'logs.all', '--format', format, '--url', url], {
      env: { PATH: process.env.PATH, GATEWAY_TOKEN: 't', HOME: '/nowhere' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const [out, err]: string[][] = [[], []];
    child.stdout.on('data', part => {
      out!.push(String(part));
      onOut?.(child);
    });
    child.stderr.on('data', part => err!.push(String(part)));
    const [code, signal] = await once(child, 'close');
    return { code, signal, out: out!.join(''), err: err!.join('') };
  }

  async function serve(answer: Parameters<typeof createServer>[1]) {
    const server = createServer(answer);
    await once(server.listen(0, '127.0.0.1'), 'listening');
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // it listens on TCP
  }

  test('rows are printed as they come; an end before the end is a failure', async () => {
    const url = await serve((_request, response) => {
      response.write('n\r\n1\r\n');
      response.on('close', () => undefined);
      // What has been printed by then has not waited for the end.
      setImmediate(function check() {
        if (seen) response.destroy();
        else setImmediate(check);
      });
    });
    let seen = false;
    const { code, out, err } = await query(url, () => (seen = true));
    expect([code, out]).toEqual([1, 'n\r\n1\r\n']);
    expect(err).toMatch(/^http:\/\/127\.0\.0\.1:\d+ did not answer/);
    expect(err).not.toContain('    at ');
  });

  test('a reader that leaves, as `head` does, ends it quietly', async () => {
    const url = await serve((_request, response) => {
      const more = () => {
        while (!response.destroyed && response.write('x'.repeat(65_536)));
      };
      response.on('drain', more);
      more();
    });
    const { code, err } = await query(url, child => child.stdout?.destroy());
    expect([code, err]).toEqual([0, '']);
  });

  test('Ctrl-C before the end is no success', async () => {
    const url = await serve((_request, response) => void response.write('n\r\n1\r\n'));
    expect(await query(url, child => child.kill('SIGINT'))).toMatchObject({
      signal: 'SIGINT',
      out: 'n\r\n1\r\n',
      err: '',
    });
  });

  test.each(['csv', 'json', 'table'])(
    'a failure that is a 200, for COMPAT=logflare, is one: %s',
    async format => {
      const url = await serve((_request, response) => {
        response.writeHead(200, { 'content-type': 'application/json; charset=utf-8' });
        response.end('{"error":{"code":"invalid_query","message":"No column x"}}');
      });
      expect(await query(url, undefined, format)).toMatchObject({
        code: 1,
        out: '',
        err: 'No column x (invalid_query)\n',
      });
    },
  );

  test('a gateway below a path is asked there', async () => {
    const asked: string[] = [];
    const url = await serve((request, response) => {
      asked.push(request.url!);
      response.end('n\r\n1\r\n');
    });
    expect(await query(`${url}/below/`)).toMatchObject({ code: 0, out: 'n\r\n1\r\n' });
    expect(asked).toEqual(['/below/api/endpoints/query/logs.all?format=csv']);
  });

  test('nobody listens', async () => {
    const closed = await serve(() => undefined).then(url => url.replace(/\d+$/, '9'));
    expect(await query(closed)).toMatchObject({ code: 1, err: expect.stringContaining('did not answer: ') });
  });
});
