import { redactText } from './redact-text.ts';
import type { RedactionKind } from './redaction-kinds.ts';

/** Characters that are redacted between two pauses, at least. */
const defaultLength = 64 * 1024;

/** A run without a place to cut is cut after this many characters all the same: redacting them holds the thread for a fifth of a second. */
const longestPiece = 1024 * 1024;

/**
 * Where a text may be cut: before a character that no kind of personal data holds or looks beyond. White space is in a bearer token, after
 * the word and what may follow it.
 */
const cut = /[!#$&()*,;<>?[\]^`{|}"]|(?<![\s0+:=]|bearer)\s/gi;

/**
 * `redactText` with pauses, in which the caller can do other work. A text with a million characters of words, dots and colons in
 * one run is cut in the run, and what is cut there may stay.
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
  const last = Math.min(text.length, start + longestPiece);
  if (last - start <= pieceLength) return last;
  // Six characters more, for what the expression looks back at.
  const from = start + pieceLength - lookBehind;
  cut.lastIndex = lookBehind;
  const found = cut.exec(text.slice(from, last));
  return found ? from + found.index : last;
}

/** Length of `bearer`. */
const lookBehind = 6;
