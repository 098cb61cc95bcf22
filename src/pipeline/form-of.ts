import { digestOf, type Entry } from '../cache/entry.ts';
import { redactRowsJson } from '../redaction/redact-rows-json.ts';
import type { Receipt } from '../rows.ts';

/** A body as one caller sees it. */
export type Form = {
  /** `{"result":[…]}`, UTF-8. The same object for the same entry, so that what is made of it can be kept with it. */
  readonly body: Buffer;
  /** Equal for equal bodies; absent for rows that are not cached. */
  readonly digest: string | undefined;
};

/** Rows as a query gave them, cached or not. */
export type Rendered = Pick<Entry, 'body' | 'columns' | 'rowCount' | 'createdAtMs'> & {
  readonly bodyDigest?: string;
  readonly isWarmed?: boolean;
  /** What the query cost; never of an entry, which is answered more often than it is paid for. */
  readonly receipt?: Receipt;
};

const redactedForms = new WeakMap<Rendered, Form>();

/** Gives the body of rows, redacted where asked for (contract section 5: redaction happens after the cache). */
export function formOf(rows: Rendered, redact: boolean): Form {
  if (!redact) return { body: rows.body, digest: rows.bodyDigest };
  const known = redactedForms.get(rows);
  if (known) return known;
  const body = redactRowsJson(rows.body);
  const form = { body, digest: rows.bodyDigest && digestOf(body) };
  redactedForms.set(rows, form);
  return form;
}
