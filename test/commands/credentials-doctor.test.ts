import { execFile } from 'node:child_process';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { bigqueryEnvironment } from '../bigquery/bigquery-environment.ts';
import { openGoogle } from '../bigquery/fake-google.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { examine } from './examine-bigquery.ts';

describe('credentials', () => {
  const authorities = getCACertificates();

  async function examineAtGoogle(spoil: (google: Awaited<ReturnType<typeof openGoogle>>) => void) {
    const google = await openGoogle({});
    onTestFinished(async () => {
      await google.close();
      vi.unstubAllEnvs();
      setDefaultCACertificates(authorities);
    });
    spoil(google);
    for (const [name, value] of Object.entries(google.environment)) vi.stubEnv(name, value);
    setDefaultCACertificates([google.cert]);
    return examine(bigqueryEnvironment(''));
  }

  test('that are good are not mentioned', async () => {
    const { lines, isAllFine } = await examineAtGoogle(() => undefined);
    expect([lines[0], isAllFine]).toEqual(['ok     engine: opens', true]);
  });

  test('that give no token are found, with the ways to give others', async () => {
    const { lines } = await examineAtGoogle(google => google.refuseCredentials());
    expect(lines[0]).toMatch(/^WRONG {2}engine: BigQuery has no credentials: .*invalid_grant/);
    expect(lines[1]).toMatch(
      /to do: run `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS/,
    );
  });

  test('that are not there are found, with the ways to give some', async () => {
    const { lines } = await examineAtGoogle(google => {
      google.environment.GOOGLE_APPLICATION_CREDENTIALS = '/nowhere/key.json';
    });
    expect(lines[0]).toMatch(/^WRONG {2}engine: BigQuery has no credentials: .*\/nowhere\/key\.json/);
    expect(lines[1]).toMatch(/to do: run `gcloud auth application-default login`/);
  });

  test('whose tokens BigQuery refuses are found, and the clock comes under suspicion', async () => {
    const { lines } = await examineAtGoogle(google => google.refuseTokens('t1', 't2'));
    expect(lines[0]).toMatch(
      /^WRONG {2}engine: BigQuery does not accept the credentials: Request had invalid/,
    );
    expect(lines[1]).toMatch(/see that the clock of this machine is right/);
  });
});

describe('as processes, on their way to Google itself', () => {
  async function runAtGoogle(program: readonly string[], tokensRefused: readonly string[] = []) {
    const google = await openGoogle({});
    onTestFinished(google.close);
    google.refuseTokens(...tokensRefused);
    const env = {
      ...process.env,
      ...bigqueryEnvironment(''),
      ...google.environment,
      DATA_DIR: await temporaryDirectory(),
      ACCESS_TOKEN: 'one',
      PORT: '0',
    };
    return promisify(execFile)('node', program, { env }).then(
      ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
      ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({
        code,
        stdout,
        stderr,
      }),
    );
  }

  test('the doctor exits with 0 where all is fine', async () => {
    const { code, stdout, stderr } = await runAtGoogle(['src/cli.ts', 'doctor']);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^ok {5}dry runs: logs\.all reads 77 bytes/m);
  });

  test('the doctor exits with 1 where something is wrong', async () => {
    const { code, stdout, stderr } = await runAtGoogle(['src/cli.ts', 'doctor'], ['t1', 't2']);
    expect([code, stderr]).toEqual([1, '']);
    expect(stdout).toMatch(/^WRONG {2}engine: BigQuery does not accept the credentials/m);
  });

  test('a gateway does not start there, and says why without a stack', async () => {
    const { code, stderr } = await runAtGoogle(['src/gateway.ts'], ['t1', 't2']);
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^The gateway could not start\.\nBigQuery can't be used as it is set up\.\nBigQuery does not accept .*\n +to do: run `gcloud /,
    );
    expect(stderr).not.toMatch(/^ +at /m);
  });
});
