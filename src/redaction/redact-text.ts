import { redactBearerTokens, redactJwts } from './credentials.ts';
import { redactEmails } from './email.ts';
import { redactIpv4 } from './ipv4.ts';
import { redactIpv6 } from './ipv6.ts';
import { type RedactionKind, redactionKinds } from './redaction-kinds.ts';

/**
 * Replaces personal data in a text by `REDACTED`, in time linear in its length (contract 9.1).
 * A second run changes nothing. Lengths of networks (`/24`) and ports stay.
 * @param kinds default: all
 */
export function redactText(value: string, kinds: readonly RedactionKind[] = redactionKinds): string {
  let text = value;
  // Adjacent addresses, as in `10.0.0.1.f::1`, are recognised only after their neighbour is replaced.
  for (let round = 0; round < maxRounds; round++) {
    const redacted = redactOnce(text, kinds);
    if (redacted === text) break;
    text = redacted;
  }
  return text;
}

/** Maximum number of rounds, for hostile text; adjacent addresses need two or three. */
const maxRounds = 8;

function redactOnce(value: string, kinds: readonly RedactionKind[]): string {
  let text = value;
  if (kinds.includes('jwt') && text.includes('eyJ')) text = redactJwts(text);
  if (kinds.includes('ipv6') && /(?::|%3A)[0-9a-f]*(?::|%3A)/i.test(text)) text = redactIpv6(text);
  if (kinds.includes('ipv4') && /\d\.\d/.test(text)) text = redactIpv4(text);
  // From here on the order matters: an IP address may be a part of an e-mail address, and either of a token,
  // never the other way round.
  if (kinds.includes('email') && /@|%40/.test(text)) text = redactEmails(text);
  if (kinds.includes('bearer') && /bearer/i.test(text)) text = redactBearerTokens(text);
  return text;
}
