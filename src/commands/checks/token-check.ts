import { issuedIn, type TokenRecords } from '../../auth/token-record.ts';
import type { Clock } from '../../base/clock.ts';
import { exists } from '../../base/missing-file.ts';
import type { Check } from './check.ts';

type TokenCheckOptions = {
  /** The records of issued tokens. */
  readonly records: TokenRecords;
  /** The file with the token that is accepted while none is issued. */
  readonly sampleTokenFile: string;
  /** Whether the environment has a token, the hash of one, or an issuer. */
  readonly isOneGiven: boolean;
  readonly clock: Clock;
};

/** Checks that a token is accepted at present. */
export function tokenCheck({ records, sampleTokenFile, isOneGiven, clock }: TokenCheckOptions): Check {
  return {
    subject: 'access tokens',
    fixForFailure: `restore ${records.place}, or move it away and issue new tokens: npm run token -- issue --name <who>`,
    async run() {
      const issued = issuedIn(await records.read());
      const revoked = issued.filter(({ revokedAt }) => revokedAt !== undefined);
      const expired = issued.filter(
        ({ revokedAt, expiresAt }) =>
          revokedAt === undefined && expiresAt !== undefined && Date.parse(expiresAt) <= clock.now(),
      );
      const accepted = issued.length - revoked.length - expired.length;
      const given = isOneGiven ? ', and what the environment gives' : '';
      const found = `${accepted} accepted, ${expired.length} expired, ${revoked.length} revoked in ${records.place}${given}`;
      if (accepted > 0 || isOneGiven) return { isFine: true, found };
      if (issued.length === 0) {
        const which = (await exists(sampleTokenFile))
          ? 'the one of the first start'
          : 'the next start makes one';
        return { isFine: true, found: `${which}, in ${sampleTokenFile}; none is issued` };
      }
      return { isFine: false, problems: [{ found, fix: 'npm run token -- issue --name <who>' }] };
    },
  };
}
