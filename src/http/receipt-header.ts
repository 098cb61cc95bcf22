import type { Receipt } from '../base/rows.ts';

/**
 * Writes what a query cost as the header `Query-Receipt`: a dictionary of structured fields.
 * Source: RFC 9651, sections 3.2 and 4.1.
 */
export function receiptHeader({ bytesProcessed, bytesBilled, slotMs, jobId }: Receipt): string {
  const members = [`bytes-processed=${integer(bytesProcessed)}`];
  if (bytesBilled !== undefined) members.push(`bytes-billed=${integer(bytesBilled)}`);
  if (slotMs !== undefined) members.push(`slot-ms=${integer(slotMs)}`);
  if (jobId !== undefined) members.push(`job-id=${string(jobId)}`);
  return members.join(', ');
}

/** Integers have at most 15 digits there. */
function integer(value: number): string {
  return String(Math.min(Math.round(value), 999_999_999_999_999));
}

/** Strings hold printable ASCII alone there. */
function string(text: string): string {
  return `"${text.replace(/[^ -~]/g, '').replace(/["\\]/g, '\\$&')}"`;
}
