import type { Caller } from '../auth/caller.ts';
import { digestBytes, digestShort, ownMemory } from '../base/bytes.ts';
import { GatewayError } from '../base/errors.ts';
import type { Receipt } from '../base/rows.ts';
import type { Entry } from '../cache/entry.ts';
import { createSingleFlight, type SingleFlight } from '../cache/single-flight.ts';
import type { EndpointDefinition } from '../endpoints/definition.ts';
import type { CallerHeaders } from '../http-messages/caller-headers.ts';
import { jsonColumnsOf } from '../redaction/json-columns.ts';
import { type RedactionOptions, redactRowsJson } from '../redaction/redact-rows-json.ts';
import { redactText } from '../redaction/redact-text.ts';
import type { RedactionKind } from '../redaction/redaction-kinds.ts';
import type { RedactionCaller, Redactor } from '../redaction/redactor.ts';

/** A body as one caller sees it. */
export type Representation = {
  /** `{"result":[…]}`, UTF-8. The same object for the same rows, so that what is derived from it can be kept with it. */
  readonly body: Buffer;
  /** Equal for equal bodies; absent for rows that are not cached. */
  readonly digest: string | undefined;
};

/** Rows as a query returned them, cached or not. */
export type Rendered = Pick<Entry, 'body' | 'columns' | 'rowCount' | 'isTruncated' | 'createdAtMs'> & {
  readonly bodyDigest?: string;
  readonly isWarmed?: boolean;
  readonly readBytes?: number | undefined;
  /** What the query cost; absent for a cache entry, which is served more often than it is paid for. */
  readonly receipt?: Receipt;
};

/** The kinds of personal data that the caller must not see; absent: rows are shown as they are. */
export type Redaction = readonly RedactionKind[] | undefined;

/** The representations of rows: those made already, by redacted kinds, and those in progress. */
type Redacted = {
  readonly made: Map<string, Representation>;
  readonly making: SingleFlight<Representation>;
};

const redactedOf = new WeakMap<Rendered, Redacted>();

/** Longer bodies are redacted on another thread: hostile text of this length holds the event loop for some 10 ms. */
const maxInlineBytes = 64 * 1024;

/**
 * Makes the representation of rows for one caller: redacted if `kinds` is given (contract 5.4: redaction happens after the cache).
 * Requests that wait for the same redaction share it; it is aborted when the last of them leaves.
 * @throws GatewayError as the redactor does; the signal's reason
 */
export async function representationOf(
  rows: Rendered,
  kinds: Redaction,
  redactor: Redactor,
  { caller, signal }: RedactionCaller,
): Promise<Representation> {
  if (!kinds) return { body: rows.body, digest: rows.bodyDigest };
  const key = kinds.join();
  const { made, making } = lookUp(rows);
  let shown = made.get(key);
  if (!shown) {
    const columns = jsonColumnsOf(rows.columns);
    const options = { kinds, jsonColumns: columns && new Map([['result', columns]]) };
    shown =
      rows.body.length <= maxInlineBytes
        ? redactInline(rows, options)
        : await making(
            key,
            signal,
            (inner, joined) => redactElsewhere(rows, options, redactor, { caller, joined, signal: inner }),
            caller,
          );
    made.set(key, shown);
  }
  return shown;
}

function redactInline(rows: Rendered, options: RedactionOptions): Representation {
  const redacted = redactRowsJson(rows.body, options);
  // It is kept as long as the rows are, so it must not keep a larger buffer alive.
  const body = redacted === rows.body ? redacted : ownMemory(redacted);
  return { body, digest: rows.bodyDigest && digestShort(body) };
}

async function redactElsewhere(
  rows: Rendered,
  options: RedactionOptions,
  redactor: Redactor,
  by: RedactionCaller,
): Promise<Representation> {
  const body = await redactor.redact(rows.body, options, by);
  return { body, digest: rows.bodyDigest && (await digestBytes(body)) };
}

function lookUp(rows: Rendered): Redacted {
  const found = redactedOf.get(rows) ?? { made: new Map(), making: createSingleFlight() };
  redactedOf.set(rows, found);
  return found;
}

/**
 * The redaction of an answer: the caller's token may require it, else the request decides, else the saved query.
 * @param kinds those of the saved query
 * @throws GatewayError `invalid_header`
 */
export function redactionOf(
  kinds: readonly RedactionKind[],
  { redactPii: isDefault }: Pick<EndpointDefinition, 'redactPii'>,
  { redactPii: requested }: Pick<CallerHeaders, 'redactPii'>,
  { scopes }: Pick<Caller, 'scopes'>,
): Redaction {
  if (requested instanceof GatewayError) throw requested;
  return scopes.has('force-redact') || (requested ?? isDefault) ? kinds : undefined;
}

/** The redaction of messages about no particular saved query: all kinds, unless a caller who may see plain rows asks for them. */
export function redactionOfMessages(
  kinds: readonly RedactionKind[],
  { redactPii }: Pick<CallerHeaders, 'redactPii'>,
  { scopes }: Pick<Caller, 'scopes'>,
): Redaction {
  return redactPii === false && !scopes.has('force-redact') ? undefined : kinds;
}

/** Redacts a short text that may repeat parts of the request. */
export function redactMessage(message: string, kinds: Redaction): string {
  return kinds ? redactText(message, kinds) : message;
}

/** Redacts the message of an error in the same way as the rows: it may repeat one of their values (contract 9.6). */
export function redactError(thrown: unknown, kinds: Redaction): unknown {
  if (!kinds || !(thrown instanceof GatewayError)) return thrown;
  const message = redactMessage(thrown.message, kinds);
  return message === thrown.message ? thrown : thrown.withMessage(message);
}
