import { replacement } from './redaction-kinds.ts';

const bearer = /(\bbearer(?:\s|%20|\+|:|=){1,4})([\w.~+/-]*\w(?:=+(?![\w.~+/@%-]))?)/gi;
/** Words that follow "bearer" in prose about such tokens, and the parameters of a `WWW-Authenticate` header. */
const prose =
  /^(?:tokens?|auth|authentication|authorization|scheme|header|is|was|for|in|or|and|not|realm|error|scope|error_description|required|missing)=?$/i;

/** Replaces the token after the word Bearer; the word stays. */
export function redactBearerTokens(text: string): string {
  return text.replace(bearer, (whole: string, word: string, token: string) =>
    prose.test(token) ? whole : word + replacement,
  );
}

/** From the second part on: a payload that is JSON too, or any payload with a signature (which may be empty). */
const jwtRest = /[\w-]*\.(?:eyJ[\w-]*(?:\.[\w-]*){0,3}|[\w-]+(?:\.[\w-]*){1,3})/y;
const segmentRest = /[\w-]*/y;

/** Replaces JSON Web Tokens, signed, unsigned or encrypted: base64url of `{"`, then two to four more parts. */
export function redactJwts(text: string): string {
  let out = '';
  let copied = 0;
  let at = text.indexOf('eyJ');
  while (at >= 0) {
    jwtRest.lastIndex = at;
    segmentRest.lastIndex = at;
    let next: number;
    if (jwtRest.test(text)) {
      out += text.slice(copied, at) + replacement;
      next = copied = jwtRest.lastIndex;
    } else {
      // Another `eyJ` in the same segment would fail for the same reason.
      segmentRest.test(text);
      next = segmentRest.lastIndex;
    }
    at = text.indexOf('eyJ', next);
  }
  return copied === 0 ? text : out + text.slice(copied);
}
