import { randomBytes as systemRandomBytes } from 'node:crypto';
import { mkdir, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { z } from 'zod';
import type { Clock } from '../base/clock.ts';
import { hashToken } from './hash-token.ts';
import { replaceFile } from './replace-file.ts';
import { withFileLock } from './with-file-lock.ts';

/** Rights beyond reading saved queries: administration, bypassing the cache, and asking what a query would cost. */
export const scopes = ['admin', 'no-cache', 'explain'] as const;

export type Scope = (typeof scopes)[number];

const recordSchema = z.strictObject({
  /** The visible part of the token, after `sqg_`. */
  id: z.string().regex(/^[0-9a-f]{8}$/),
  name: z.string().min(1),
  /** SHA-256 of the whole token, hexadecimal. */
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  scopes: z.array(z.enum(scopes)).default([]),
  /** Bytes that one query may be billed. */
  maxBytesBilled: z.int().min(1).optional(),
  createdAt: z.iso.datetime(),
  expiresAt: z.iso.datetime().optional(),
  revokedAt: z.iso.datetime().optional(),
});

/** An issued token as it is kept: everything but the token itself. */
export type TokenRecord = Readonly<z.infer<typeof recordSchema>>;

type FileOptions = {
  readonly file: string;
  /** Milliseconds to wait for other commands. Default 15 s. */
  readonly lockMs?: number;
};

type IssueOptions = FileOptions & {
  /** Who will use it. */
  readonly name: string;
  /** Default: none. */
  readonly scopes?: readonly Scope[];
  /** Bytes that one query of this token may be billed, where the engine bills. Default: no limit of its own. */
  readonly maxBytesBilled?: number;
  /** ISO 8601; absent: it does not expire. */
  readonly expiresAt?: string;
  readonly clock: Clock;
  /** Default: the system's. */
  readonly randomBytes?: (size: number) => Buffer;
};

/**
 * Makes a token and keeps its hash in the file.
 * @returns the token, `sqg_<id>_<secret>`: the only time it can be seen
 */
export async function issueToken(options: IssueOptions): Promise<string> {
  const randomBytes = options.randomBytes ?? systemRandomBytes;
  const id = randomBytes(4).toString('hex');
  const token = `sqg_${id}_${randomBytes(32).toString('base64url')}`;
  const record: TokenRecord = {
    id,
    name: options.name,
    hash: hashToken(token).toString('hex'),
    scopes: [...(options.scopes ?? [])],
    ...(options.maxBytesBilled === undefined ? {} : { maxBytesBilled: options.maxBytesBilled }),
    createdAt: new Date(options.clock.now()).toISOString(),
    ...(options.expiresAt === undefined ? {} : { expiresAt: options.expiresAt }),
  };
  await changeTokens(options, records => [...records, record]);
  return token;
}

type RevokeOptions = FileOptions & { readonly id: string; readonly clock: Clock };

/** Marks a token as revoked; false when the file has none of this id. */
export async function revokeToken(options: RevokeOptions): Promise<boolean> {
  const revokedAt = new Date(options.clock.now()).toISOString();
  let isThere = false;
  await changeTokens(options, records =>
    records.map(record => {
      if (record.id !== options.id) return record;
      isThere = true;
      return { revokedAt, ...record };
    }),
  );
  return isThere;
}

/**
 * Reads all tokens of a file, revoked ones too; a file that is not there has none.
 * @throws Error that names the file where it is not a list of token records
 */
export async function readTokens(file: string): Promise<TokenRecord[]> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []; // every fs error has a code
    throw error;
  }
  try {
    return z.array(recordSchema).parse(JSON.parse(text));
  } catch (error) {
    const reason = error instanceof z.ZodError ? z.prettifyError(error) : String(error);
    throw new Error(`The tokens file ${file} can't be read: ${reason}`);
  }
}

/**
 * Changes the list under the lock, and verifies that the file has the change.
 * @throws Error if it has not, or can't be written or locked
 */
async function changeTokens(
  { file, lockMs }: FileOptions,
  change: (records: readonly TokenRecord[]) => readonly TokenRecord[],
): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await withFileLock(
    file,
    async () => {
      const text = `${JSON.stringify(change(await readTokens(file)), undefined, 2)}\n`;
      await replaceFile(file, text);
      if ((await readFile(file, 'utf8')) === text) return;
      throw new Error(`The tokens file ${file} was changed by somebody else at the same time; try again`);
    },
    lockMs,
  );
}
