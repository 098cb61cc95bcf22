import { readTokens } from '../auth/token-file.ts';
import type { Clock } from '../base/clock.ts';
import type { Check } from './check.ts';

type TokenCheckOptions = {
  /** The file of issued tokens. */
  readonly file: string;
  /** Whether the environment gives a token or the hash of one. */
  readonly isOneGiven: boolean;
  readonly clock: Clock;
};

/** Is there a token that is accepted now? */
export function tokenCheck({ file, isOneGiven, clock }: TokenCheckOptions): Check {
  return {
    subject: 'access tokens',
    fixForFailure: `restore ${file}, or move it away and issue new tokens: npm run token -- issue --name <who>`,
    async run() {
      const issued = await readTokens(file);
      const revoked = issued.filter(({ revokedAt }) => revokedAt !== undefined);
      const expired = issued.filter(
        ({ revokedAt, expiresAt }) =>
          revokedAt === undefined && expiresAt !== undefined && Date.parse(expiresAt) <= clock.now(),
      );
      const accepted = issued.length - revoked.length - expired.length;
      const given = isOneGiven ? ', and what the environment gives' : '';
      const found = `${accepted} accepted, ${expired.length} expired, ${revoked.length} revoked in ${file}${given}`;
      if (accepted > 0 || isOneGiven) return { isFine: true, found };
      return { isFine: false, problems: [{ found, fix: 'npm run token -- issue --name <who>' }] };
    },
  };
}
