import { z } from 'zod';
import { endpointGlob } from './caller.ts';
import { defaultScopes, type Scope, scopes } from './scopes.ts';
import { limitsSchema, type TokenLimits } from './usage/token-limits.ts';

/** Maximum characters of a fixed value; the pattern that matches it literally may have twice as many. */
export const maxFixedLength = 512;

/** The schemas of what a token may be granted, in records and in the claims of JSON Web Tokens alike. */
const fixedValue = z.string().min(1).max(maxFixedLength);
export const grantSchemas = {
  endpoints: z.array(z.string().regex(endpointGlob)).min(1),
  fixedValue,
  parameters: z.record(z.string().min(1), fixedValue),
  maxBytesBilled: z.int().min(1),
};

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const scopeList = z.array(z.enum(scopes));

/** The stored record of an issued token: everything except the token itself. */
export const recordSchema = z.strictObject({
  /** The visible part of the token, after `sqg_`. */
  id: z.string().regex(/^[0-9a-f]{8}$/),
  name: z.string().min(1),
  /** SHA-256 of the whole token, hexadecimal. */
  hash: sha256,
  /** Scopes besides the default ones. */
  scopes: scopeList.default([]),
  /** Default scopes that are withheld. */
  without: scopeList.optional(),
  /** Names and globs of the saved queries that it may read; absent: all. */
  endpoints: grantSchemas.endpoints.optional(),
  /** Parameter values that the token fixes, by name. */
  parameters: grantSchemas.parameters.optional(),
  /** Bytes that one query may be billed. */
  maxBytesBilled: grantSchemas.maxBytesBilled.optional(),
  limits: limitsSchema.optional(),
  createdAt: z.iso.datetime(),
  expiresAt: z.iso.datetime().optional(),
  /** The token that this one replaced, and until when it is still accepted. */
  previous: z.strictObject({ hash: sha256, until: z.iso.datetime() }).optional(),
  revokedAt: z.iso.datetime().optional(),
});

export type TokenRecord = Readonly<z.infer<typeof recordSchema>>;

/** The id by which JSON Web Tokens are denied: `jwt-…` for a subject, as logs show it, or `jti:` and that claim of a single token. */
export const deniedId = /^(?:jwt-[0-9a-f]{12}|jti:.{1,256})$/;

const denialSchema = z.strictObject({
  id: z.string().regex(deniedId),
  deniedAt: z.iso.datetime(),
});

/** JSON Web Tokens that are refused although their issuer accepts them: all of one subject, or a single one. */
export type Denial = Readonly<z.infer<typeof denialSchema>>;

/** A record in the list of tokens. */
export type StoredRecord = TokenRecord | Denial;

export function isDenial(record: StoredRecord): record is Denial {
  return 'deniedAt' in record;
}

/** The records of issued tokens. */
export function issuedIn(records: readonly StoredRecord[]): TokenRecord[] {
  return records.filter((record): record is TokenRecord => !isDenial(record));
}

/**
 * Parses a list of records, JSON.
 * @throws Error that says where the text is not one
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

/** What a token allows: the part of a record that its issuer chooses. */
export type TokenGrants = {
  /** Scopes besides the default ones. */
  readonly scopes?: readonly Scope[];
  /** Default scopes to withhold. */
  readonly without?: readonly Scope[] | undefined;
  /** Names and globs of saved queries. Default: all. */
  readonly endpoints?: readonly string[] | undefined;
  /** Parameter values that the token fixes, by name. Default: none. */
  readonly parameters?: Readonly<Record<string, string>> | undefined;
  /** Maximum bytes that one query may be billed, if the engine bills. Default: no limit of its own. */
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
  /** Reads all records, those of revoked tokens included. */
  read(): Promise<readonly StoredRecord[]>;
  /** Equal as long as the records are unchanged; costs next to nothing. */
  version(): Promise<string>;
  /**
   * Changes the records atomically.
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
