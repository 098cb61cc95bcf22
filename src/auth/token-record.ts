import { z } from 'zod';
import { endpointGlob } from './caller.ts';
import { defaultScopes, type Scope, scopes } from './scopes.ts';
import { limitsSchema, type TokenLimits } from './usage/token-limits.ts';

/** Characters of a fixed value; as a pattern that matches it literally it may have twice as many. */
export const maxFixedLength = 512;

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const scopeList = z.array(z.enum(scopes));

/** An issued token as it is kept: everything but the token itself. */
export const recordSchema = z.strictObject({
  /** The visible part of the token, after `sqg_`. */
  id: z.string().regex(/^[0-9a-f]{8}$/),
  name: z.string().min(1),
  /** SHA-256 of the whole token, hexadecimal. */
  hash: sha256,
  /** Scopes beside the default ones. */
  scopes: scopeList.default([]),
  /** Default scopes that it has not. */
  without: scopeList.optional(),
  /** Names and globs of the saved queries that it may ask; absent: all. */
  endpoints: z.array(z.string().regex(endpointGlob)).min(1).optional(),
  /** Values of parameters, by name, that the token fixes. */
  parameters: z.record(z.string().min(1), z.string().min(1).max(maxFixedLength)).optional(),
  /** Bytes that one query may be billed. */
  maxBytesBilled: z.int().min(1).optional(),
  limits: limitsSchema.optional(),
  createdAt: z.iso.datetime(),
  expiresAt: z.iso.datetime().optional(),
  /** The token that this one replaced, and how long that is accepted still. */
  previous: z.strictObject({ hash: sha256, until: z.iso.datetime() }).optional(),
  revokedAt: z.iso.datetime().optional(),
});

export type TokenRecord = Readonly<z.infer<typeof recordSchema>>;

/** What JSON Web Tokens are denied by: `jwt-…`, which logs show of a subject, or `jti:` and the claim of one token. */
export const deniedId = /^(?:jwt-[0-9a-f]{12}|jti:.{1,256})$/;

const denialSchema = z.strictObject({
  id: z.string().regex(deniedId),
  deniedAt: z.iso.datetime(),
});

/** JSON Web Tokens that are refused, whatever their issuer says: those of a subject, or one. */
export type Denial = Readonly<z.infer<typeof denialSchema>>;

/** What is kept of tokens. */
export type StoredRecord = TokenRecord | Denial;

export function isDenial(record: StoredRecord): record is Denial {
  return 'deniedAt' in record;
}

/** The records of issued tokens. */
export function issuedIn(records: readonly StoredRecord[]): TokenRecord[] {
  return records.filter((record): record is TokenRecord => !isDenial(record));
}

/**
 * Reads what is kept of tokens.
 * @throws Error that says where the text is no list of records
 */
export function parseRecords(text: string): StoredRecord[] {
  try {
    const all = z.array(z.looseObject({})).parse(JSON.parse(text));
    return all.map((each, at) => {
      const schema: z.ZodType<StoredRecord> = 'deniedAt' in each ? denialSchema : recordSchema;
      const read = schema.safeParse(each);
      if (read.success) return read.data;
      throw new Error(`record ${at + 1}: ${z.prettifyError(read.error)}`);
    });
  } catch (error) {
    throw error instanceof z.ZodError ? new Error(z.prettifyError(error)) : error;
  }
}

/** What a token allows: the part of a record that whoever issues it chooses. */
export type TokenGrants = {
  /** Scopes beside the default ones. */
  readonly scopes?: readonly Scope[];
  /** Default scopes that it is not to have. */
  readonly without?: readonly Scope[] | undefined;
  /** Names and globs of saved queries. Default: all. */
  readonly endpoints?: readonly string[] | undefined;
  /** Values of parameters, by name, that the token fixes. Default: none. */
  readonly parameters?: Readonly<Record<string, string>> | undefined;
  /** Bytes that one query may be billed, where the engine bills. Default: no limit of its own. */
  readonly maxBytesBilled?: number | undefined;
  /** Default: none. */
  readonly limits?: TokenLimits | undefined;
  /** ISO 8601; absent: it does not expire. */
  readonly expiresAt?: string | undefined;
};

/** Where the records of issued tokens are kept. */
export type TokenRecords = {
  /** For messages: a file, or a Redis without its password. */
  readonly place: string;
  /** Whether they may be out of reach for a while. */
  readonly isRemote: boolean;
  /** Reads all records, those of revoked tokens too. */
  read(): Promise<readonly StoredRecord[]>;
  /** Equal while the records are; costs next to nothing. */
  version(): Promise<string>;
  /**
   * Changes the records, while nobody else does.
   * @throws Error if they can't be read or written; then nothing has changed
   */
  change(change: (records: readonly StoredRecord[]) => readonly StoredRecord[]): Promise<void>;
};

/** The scopes that a record grants, the default ones included. */
export function grantedScopes({
  scopes: own,
  without = [],
}: Pick<TokenRecord, 'scopes' | 'without'>): Scope[] {
  const kept = defaultScopes.filter(scope => !without.includes(scope));
  return scopes.filter(scope => kept.includes(scope) || own.includes(scope));
}
