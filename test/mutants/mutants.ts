import { allocation } from './allocation.ts';
import { deadline } from './deadline.ts';
import { details } from './details.ts';
import { endings } from './endings.ts';
import { eventLoop } from './event-loop.ts';
import { fairShares } from './fair-shares.ts';
import { graphqlSize } from './graphql-size.ts';
import { interleavings } from './interleavings.ts';
import { jsonAnswers } from './json-answers.ts';
import { largeEntries } from './large-entries.ts';
import type { Mutant } from './mutant.ts';
import { slowClients } from './slow-clients.ts';
import { tokens } from './tokens.ts';

/** What a request, a client or a fault must not do to others (docs/reliability.md), in groups. */
export const groups: Readonly<Record<string, readonly Mutant[]>> = {
  'nothing stays allocated': allocation,
  'answers are JSON': jsonAnswers,
  'GraphQL has a size': graphqlSize,
  'the event loop turns': eventLoop,
  'one deadline': deadline,
  'fair shares': fairShares,
  'slow clients end': slowClients,
  'large entries harm nobody': largeEntries,
  'an end drops nothing': endings,
  'tokens on disk survive': tokens,
  'errors, patterns and deployment': details,
  interleavings: interleavings,
};
