import type { Clock } from '../base/clock.ts';
import { isDenial, type TokenGrants, type TokenRecord, type TokenRecords } from './token-record.ts';
import { hashToken, newTokenId, newTokenText, type RandomBytes } from './token-text.ts';

type IssueOptions = TokenGrants & {
  /** Who will use it. */
  readonly name: string;
  readonly clock: Clock;
  /** Default: the system's. */
  readonly randomBytes?: RandomBytes;
};

/**
 * Makes a token and keeps its hash.
 * @returns the token: the only time it can be seen
 */
export async function issueToken(records: TokenRecords, options: IssueOptions): Promise<string> {
  const { name, clock, randomBytes, ...grants } = options;
  const id = newTokenId(randomBytes);
  const token = newTokenText(id, randomBytes);
  const hash = hashToken(token).toString('hex');
  const createdAt = new Date(clock.now()).toISOString();
  // JSON leaves out what is undefined.
  const record = JSON.parse(JSON.stringify({ id, name, hash, scopes: [], ...grants, createdAt }));
  let isTaken = false;
  await records.change(all => {
    isTaken = all.some(other => other.id === id);
    return isTaken ? all : [...all, record];
  });
  // Ids must be unique: tokens are revoked, limited and counted by them.
  return isTaken ? issueToken(records, options) : token;
}

type ManageOptions = { readonly id: string; readonly clock: Clock };

type RotateOptions = ManageOptions & {
  /** Milliseconds for which the old token is still accepted. */
  readonly graceMs: number;
};

/**
 * Gives a token a new secret; its id, name and grants stay.
 * @returns the new token; undefined if no token of this id is accepted
 */
export async function rotateToken(
  records: TokenRecords,
  { id, graceMs, clock }: RotateOptions,
): Promise<string | undefined> {
  const token = newTokenText(id);
  const until = new Date(clock.now() + graceMs).toISOString();
  const rotate = ({ hash, ...kept }: TokenRecord): TokenRecord => ({
    ...kept,
    hash: hashToken(token).toString('hex'),
    previous: { hash, until },
  });
  const isThere = await changeOne(records, id, record =>
    isAccepted(record, clock) ? rotate(record) : undefined,
  );
  return isThere ? token : undefined;
}

/** Marks a token as revoked; false if no token has this id. */
export function revokeToken(records: TokenRecords, { id, clock }: ManageOptions): Promise<boolean> {
  const revokedAt = new Date(clock.now()).toISOString();
  return changeOne(records, id, record => ({ revokedAt, ...record }));
}

/** Refuses JSON Web Tokens from now on: those of a subject, or one, as `deniedId` says. */
export async function denyJwt(records: TokenRecords, { id, clock }: ManageOptions): Promise<void> {
  const deniedAt = new Date(clock.now()).toISOString();
  await records.change(all => (all.some(record => record.id === id) ? all : [...all, { id, deniedAt }]));
}

/** Removes a denial; false if there is none with this id. */
export async function allowJwt(records: TokenRecords, id: string): Promise<boolean> {
  let wasDenied = false;
  await records.change(all => {
    const others = all.filter(record => !isDenial(record) || record.id !== id);
    wasDenied = others.length < all.length;
    return others;
  });
  return wasDenied;
}

/** Whether a token is neither revoked nor expired. */
export function isAccepted({ revokedAt, expiresAt }: TokenRecord, clock: Clock): boolean {
  return revokedAt === undefined && (expiresAt === undefined || clock.now() < Date.parse(expiresAt));
}

/** @returns whether there is a record of this id and `change` returned another one for it */
async function changeOne(
  records: TokenRecords,
  id: string,
  change: (record: TokenRecord) => TokenRecord | undefined,
): Promise<boolean> {
  let isChanged = false;
  await records.change(all =>
    all.map(record => {
      const changed = record.id === id && !isDenial(record) ? change(record) : undefined;
      if (changed) isChanged = true;
      return changed ?? record;
    }),
  );
  return isChanged;
}
