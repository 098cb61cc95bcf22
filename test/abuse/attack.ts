import type { Target } from './target.ts';

/** Scopes without which some attacks would be refused at once, with 403. */
export type AttackScope = 'write' | 'explain';

/** What one caller with an ordinary token does to a gateway, as one row of a table. */
export type Attack = {
  readonly name: string;
  /** Senders at the same time, each with one thing under way. Default 8. */
  readonly senders?: number;
  /** Seconds for which it goes on. Default 5. */
  readonly seconds?: number;
  /** Whether the gateway has a Redis. Default: it has none, as in a default start. */
  readonly needsRedis?: true;
  /** The scope of the attacker's token. Default: it has none. */
  readonly scope?: AttackScope;
  /** Makes what takes seconds to make, before the attack begins. Default: nothing does. */
  readonly prepare?: () => unknown;
  /** Sends one thing; called again as soon as it ends, until the time is over. `n` counts the calls of all senders. */
  send(target: Target, n: number): Promise<unknown>;
};
