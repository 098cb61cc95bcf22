import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** A certificate that vouches for itself: server, client and authority in one. */
export type TestCertificate = {
  readonly certificateFile: string;
  readonly keyFile: string;
  /** Deletes both. */
  remove(): Promise<void>;
};

const run = promisify(execFile);

/**
 * Makes a certificate that is good for two days.
 * @param names whom it is for, such as `DNS:localhost`
 */
export async function makeTestCertificate(...names: readonly string[]): Promise<TestCertificate> {
  const directory = await mkdtemp(join(tmpdir(), 'certificate-'));
  const [certificateFile, keyFile] = [join(directory, 'cert.pem'), join(directory, 'key.pem')];
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', keyFile];
  const subject = ['-subj', '/CN=test', '-addext', `subjectAltName=${names.join(',')}`];
  await run('openssl', ['req', '-x509', ...key, '-days', '2', '-out', certificateFile, ...subject]);
  return { certificateFile, keyFile, remove: () => rm(directory, { recursive: true }) };
}
