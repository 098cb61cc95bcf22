import type { Receipt } from '../base/rows.ts';
import { digestAsync, digestOf, type Entry } from '../cache/entry.ts';
import { redactRowsJson } from '../redaction/redact-rows-json.ts';
import type { RedactionKind } from '../redaction/redaction-kinds.ts';
import type { Redactor } from '../redaction/redactor.ts';

/** A body as one caller sees it. */
export type Form = {
  /** `{"result":[…]}`, UTF-8. The same object for the same entry, so that what is made of it can be kept with it. */
  readonly body: Buffer;
  /** Equal for equal bodies; absent for rows that are not cached. */
  readonly digest: string | undefined;
};

/** Rows as a query gave them, cached or not. */
export type Rendered = Pick<Entry, 'body' | 'columns' | 'rowCount' | 'isTruncated' | 'createdAtMs'> & {
  readonly bodyDigest?: string;
  readonly isWarmed?: boolean;
  /** What the query cost; never of an entry, which is answered more often than it is paid for. */
  readonly receipt?: Receipt;
};

/** The kinds of personal data that a caller is not to see; absent: the rows are given as they are. */
export type Redaction = readonly RedactionKind[] | undefined;

/** The redacted form of rows, or the promise of the one that is being made. */
type Place = { form?: Form; coming?: Promise<Form> | undefined };

const placesOf = new WeakMap<Rendered, Map<string, Place>>();

/** Longer bodies are redacted on another thread: hostile text of this length holds the event loop for some 10 ms. */
const maxBytesNow = 64 * 1024;

/**
 * Gives the body of rows, redacted where asked for (contract 5.4: redaction happens after the cache).
 * @returns undefined if that would hold the event loop for too long
 */
export function formNow(rows: Rendered, kinds: Redaction): Form | undefined {
  if (!kinds) return plainForm(rows);
  const place = placeOf(rows, kinds);
  if (!place.form && rows.body.length <= maxBytesNow) {
    const body = redactRowsJson(rows.body, kinds);
    place.form = { body, digest: rows.bodyDigest && digestOf(body) };
  }
  return place.form;
}

/**
 * The same, however long it takes; rows that several callers wait for are redacted once.
 * @throws GatewayError as the redactor does
 */
export async function formOf(rows: Rendered, kinds: Redaction, redactor: Redactor): Promise<Form> {
  if (!kinds) return plainForm(rows);
  const form = formNow(rows, kinds);
  if (form) return form;
  const place = placeOf(rows, kinds);
  place.coming ??= makeAside(rows, kinds, redactor).finally(() => {
    place.coming = undefined;
  });
  place.form = await place.coming;
  return place.form;
}

function plainForm({ body, bodyDigest }: Rendered): Form {
  return { body, digest: bodyDigest };
}

async function makeAside(rows: Rendered, kinds: readonly RedactionKind[], redactor: Redactor): Promise<Form> {
  const body = await redactor.redact(rows.body, kinds);
  return { body, digest: rows.bodyDigest && (await digestAsync(body)) };
}

function placeOf(rows: Rendered, kinds: readonly RedactionKind[]): Place {
  const places = placesOf.get(rows) ?? new Map<string, Place>();
  placesOf.set(rows, places);
  const key = kinds.join();
  const place = places.get(key) ?? {};
  places.set(key, place);
  return place;
}
