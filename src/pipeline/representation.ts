import { GatewayError } from '../base/errors.ts';
import type { Receipt } from '../base/rows.ts';
import { digestAsync, digestOf, type Entry } from '../cache/entry.ts';
import { redactRowsJson } from '../redaction/redact-rows-json.ts';
import { redactText } from '../redaction/redact-text.ts';
import type { RedactionKind } from '../redaction/redaction-kinds.ts';
import type { Redactor } from '../redaction/redactor.ts';

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
  /** What the query cost; absent for a cache entry, which is served more often than it is paid for. */
  readonly receipt?: Receipt;
};

/** The kinds of personal data that the caller must not see; absent: rows are shown as they are. */
export type Redaction = readonly RedactionKind[] | undefined;

/** A redacted representation, or the promise of the one being made. */
type Redacted = { made?: Representation; pending?: Promise<Representation> | undefined };

const redactedOf = new WeakMap<Rendered, Map<string, Redacted>>();

/** Longer bodies are redacted on another thread: hostile text of this length holds the event loop for some 10 ms. */
const maxInlineBytes = 64 * 1024;

/**
 * Shows rows to a caller, redacted where asked for (contract 5.4: redaction happens after the cache). Requests that wait
 * for the same redaction share it.
 * @throws GatewayError as the redactor does
 */
export async function representationOf(
  rows: Rendered,
  kinds: Redaction,
  redactor: Redactor,
): Promise<Representation> {
  if (!kinds) return { body: rows.body, digest: rows.bodyDigest };
  const redacted = lookUp(rows, kinds);
  if (!redacted.made && rows.body.length <= maxInlineBytes) {
    const body = redactRowsJson(rows.body, kinds);
    redacted.made = { body, digest: rows.bodyDigest && digestOf(body) };
  }
  if (redacted.made) return redacted.made;
  redacted.pending ??= redactElsewhere(rows, kinds, redactor).finally(() => {
    redacted.pending = undefined;
  });
  redacted.made = await redacted.pending;
  return redacted.made;
}

async function redactElsewhere(
  rows: Rendered,
  kinds: readonly RedactionKind[],
  redactor: Redactor,
): Promise<Representation> {
  const body = await redactor.redact(rows.body, kinds);
  return { body, digest: rows.bodyDigest && (await digestAsync(body)) };
}

function lookUp(rows: Rendered, kinds: readonly RedactionKind[]): Redacted {
  const all = redactedOf.get(rows) ?? new Map<string, Redacted>();
  redactedOf.set(rows, all);
  const key = kinds.join();
  const found = all.get(key) ?? {};
  all.set(key, found);
  return found;
}

/** Redacts the message of an error as the rows would have been: it may repeat one of their values (contract 9.6). */
export function redactError(thrown: unknown, kinds: Redaction): unknown {
  if (!kinds || !(thrown instanceof GatewayError)) return thrown;
  const message = redactText(thrown.message, kinds);
  return message === thrown.message ? thrown : thrown.withMessage(message);
}
