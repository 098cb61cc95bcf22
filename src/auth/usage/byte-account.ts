import { GatewayError } from '../../base/errors.ts';
import type { TokenLimits } from './token-limits.ts';

/** Bytes of one day in UTC, `2026-01-15`. */
export type BytesOfDay = { readonly bytes: number; readonly day: string };

export type ByteTotals = { readonly bytesOfDay: number; readonly bytesOfMonth: number };

/** The bytes that the queries of one token have read this day and month, as far as this gateway knows. Times are milliseconds since 1970. */
export type ByteAccount = {
  add(nowMs: number, bytes: number): void;
  /** The error for a token that may run no more queries; undefined if it may. */
  refusal(nowMs: number): GatewayError | undefined;
  /** Takes the bytes that the ledger does not have yet, one day at a time; they still count in the account. */
  drain(nowMs: number): BytesOfDay;
  /** Adopts the totals of the ledger, which include the drained bytes of a day. */
  settle(nowMs: number, totals: ByteTotals, day: string): void;
  /** Whether there is more to drain. */
  readonly isDirty: boolean;
  /** Takes drained bytes back that have not reached the ledger. */
  restore(drained: BytesOfDay): void;
};

/** Makes an empty account. */
export function createByteAccount(
  { bytesPerDay = Infinity, bytesPerMonth = Infinity }: TokenLimits,
  nowMs: number,
): ByteAccount {
  let day = dayOf(nowMs);
  let known: ByteTotals = { bytesOfDay: 0, bytesOfMonth: 0 };
  let bytes = 0;
  /** Bytes of an earlier day that the ledger does not have yet. */
  let earlier: BytesOfDay | undefined;

  const isThisDay = (nowMs: number) => nowMs >= dayMs(day) && nowMs < dayMs(day) + lengthOfDayMs;

  function turnDay(nowMs: number): void {
    if (isThisDay(nowMs)) return;
    const today = dayOf(nowMs);
    const isSameMonth = today.slice(0, 7) === day.slice(0, 7);
    known = { bytesOfDay: 0, bytesOfMonth: isSameMonth ? known.bytesOfMonth + bytes : 0 };
    if (bytes > 0) earlier = { day, bytes: bytes + (earlier?.bytes ?? 0) };
    bytes = 0;
    day = today;
  }

  /** Moves bytes from those that the ledger does not have yet to those that it has. */
  function move(moved: number): void {
    bytes -= moved;
    known = {
      bytesOfDay: Math.max(0, known.bytesOfDay + moved),
      bytesOfMonth: Math.max(0, known.bytesOfMonth + moved),
    };
  }

  return {
    add(nowMs, read) {
      turnDay(nowMs);
      bytes += read;
    },
    refusal(nowMs) {
      turnDay(nowMs);
      const date = new Date(nowMs);
      const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
      if (known.bytesOfMonth + bytes >= bytesPerMonth) {
        return quotaError('month', Date.UTC(year, month + 1, 1) - nowMs);
      }
      if (known.bytesOfDay + bytes < bytesPerDay) return undefined;
      return quotaError('day', Date.UTC(year, month, date.getUTCDate() + 1) - nowMs);
    },
    drain(nowMs) {
      turnDay(nowMs);
      if (earlier) {
        const drained = earlier;
        earlier = undefined;
        return drained;
      }
      const drained = { bytes, day };
      move(bytes);
      return drained;
    },
    settle(nowMs, totals, settledDay) {
      if (settledDay === day && isThisDay(nowMs)) known = totals;
    },
    get isDirty() {
      return bytes > 0 || earlier !== undefined;
    },
    restore(drained) {
      if (drained.day === day) move(-drained.bytes);
      else earlier = { day: drained.day, bytes: drained.bytes + (earlier?.bytes ?? 0) };
    },
  };
}

const lengthOfDayMs = 86_400_000;

const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10);
const dayMs = (day: string) => Date.parse(day);

function quotaError(span: 'day' | 'month', waitMs: number): GatewayError {
  return new GatewayError(
    'quota_exceeded',
    `The queries of the access token have read all bytes that it has for a ${span}; stored answers are still served`,
    { retryAfterSeconds: Math.ceil(waitMs / 1000) },
  );
}
