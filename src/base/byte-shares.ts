import { GatewayError } from './errors.ts';

/** Limits the bytes of bodies that wait to be read, redacted or written. */
export type ByteShares = {
  /**
   * Takes the bytes of a body. A caller that holds none always gets them, whatever the other callers hold.
   * @param caller the id of an access token
   * @returns a function that gives them back; call it once
   * @throws GatewayError `too_many_requests` if the caller already holds its share, `overloaded` if all callers together hold too many
   */
  take(caller: string, bytes: number): () => void;
  /**
   * Takes the bytes of a body that is not there yet, whatever all callers together hold; give them back right before `take`.
   * @throws GatewayError `too_many_requests`
   */
  claim(caller: string, bytes: number): () => void;
};

/** Maximum bytes of all waiting bodies. */
const maxBytes = 128 * 1024 * 1024;

/** Maximum bytes of one caller's bodies: two of the largest, each of which is in memory up to four times while it is worked on. */
const maxBytesPerCaller = maxBytes / 4;

/** @param treatment for messages: what happens to the bodies, such as `redacted` */
export function createByteShares(treatment: string): ByteShares {
  const held = new Map<string, number>();
  let total = 0;

  function add(caller: string, bytes: number): void {
    total += bytes;
    const own = (held.get(caller) ?? 0) + bytes;
    if (own === 0) held.delete(caller);
    else held.set(caller, own);
  }

  function checkShare(caller: string, bytes: number): void {
    const own = held.get(caller) ?? 0;
    if (own === 0 || own + bytes <= maxBytesPerCaller) return;
    const message = `Too many bytes of this access token are being ${treatment}; try again`;
    throw new GatewayError('too_many_requests', message);
  }

  function hold(caller: string, bytes: number): () => void {
    add(caller, bytes);
    return () => add(caller, -bytes);
  }

  return {
    claim(caller, bytes) {
      checkShare(caller, bytes);
      return hold(caller, bytes);
    },
    take(caller, bytes) {
      checkShare(caller, bytes);
      if (held.has(caller) && total + bytes > maxBytes) {
        throw new GatewayError('overloaded', `Too many bytes are being ${treatment}; try again`);
      }
      return hold(caller, bytes);
    },
  };
}

/** The claims of one request, made while its rows are read. */
export type Claims = {
  /** Makes those that it does not hold yet; none after the end, when the rows may still be read for others. @throws GatewayError `too_many_requests` */
  claim(bytes: number): void;
  /** Gives back what it holds. */
  end(): void;
};

/** @param makers of the claims, such as `ByteShares.claim` for a caller */
export function openClaims(makers: readonly ((bytes: number) => () => void)[]): Claims {
  const held: (() => void)[] = [];
  let isOver = false;
  return {
    claim(bytes) {
      if (isOver) return;
      for (const [at, make] of makers.entries()) held[at] ??= make(bytes);
    },
    end() {
      isOver = true;
      for (const release of held) release();
    },
  };
}
