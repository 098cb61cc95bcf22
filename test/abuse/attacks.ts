import { answerAttacks } from './answer-attacks.ts';
import type { Attack } from './attack.ts';
import { graphqlAttacks } from './graphql-attacks.ts';
import { handlerAttacks, writeAttacks } from './handler-attacks.ts';
import { hitAttacks } from './hit-attacks.ts';
import { keptAttacks, packedAttacks, strangeAttacks } from './hostile-attacks.ts';
import { cacheAttacks, httpAttacks } from './http-attacks.ts';
import { mixedAttacks, sharedWriteAttacks } from './mixed-attacks.ts';
import { nameAttacks } from './name-attacks.ts';
import { sqlAttacks } from './sql-attacks.ts';

/** The token of the attacker: one of `TOKEN_HASHES`, so without a scope. */
export const attackToken = 'the-token-of-an-attacker';

/** Every attack that a gateway must bear; a row is all that a new one needs. */
export const attacks: readonly Attack[] = [
  ...httpAttacks(attackToken),
  ...strangeAttacks(attackToken),
  ...cacheAttacks,
  ...keptAttacks,
  ...graphqlAttacks,
  ...sqlAttacks,
  ...handlerAttacks,
  ...writeAttacks,
  ...packedAttacks,
  ...hitAttacks(attackToken),
  ...answerAttacks,
  ...nameAttacks,
  ...mixedAttacks,
  ...sharedWriteAttacks,
];
