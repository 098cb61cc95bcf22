import { redactText } from './redact-text.ts';
import type { RedactionKind } from './redaction-kinds.ts';

/** Minimum characters between two pauses. */
const defaultLength = 64 * 1024;

/** A run without any place to cut it is cut after this many characters all the same: redacting them holds the thread for a fifth of a second. */
const maxPieceLength = 1024 * 1024;

/**
 * Where a text may be cut: before a character that is part of no kind of personal data, nor needed to recognise it. Not before white
 * space after "bearer" or the characters that may follow that word.
 */
const cut = /[!#$&()*,;<>?[\]^`{|}"]|(?<![\s0+:=]|bearer)\s/gi;

/**
 * `redactText` with pauses in which the caller can do other work. A run of more than a million characters of words, dots and colons is
 * cut inside the run, and personal data at the cut may stay.
 * @param pieceLength for tests, which need short ones
 */
export function* redactLongText(
  text: string,
  kinds: readonly RedactionKind[],
  pieceLength = defaultLength,
): Generator<undefined, string, undefined> {
  if (text.length <= pieceLength) return redactText(text, kinds);
  const pieces: string[] = [];
  for (let start = 0; start < text.length; ) {
    const end = pieceEnd(text, start, pieceLength);
    pieces.push(redactText(text.slice(start, end), kinds));
    start = end;
    yield;
  }
  return pieces.join('');
}

function pieceEnd(text: string, start: number, pieceLength: number): number {
  const last = Math.min(text.length, start + maxPieceLength);
  if (last - start <= pieceLength) return last;
  // Six more characters, for the look-behind of the expression.
  const from = start + pieceLength - lookBehind;
  cut.lastIndex = lookBehind;
  const found = cut.exec(text.slice(from, last));
  return found ? from + found.index : last;
}

/** Length of `bearer`. */
const lookBehind = 6;
