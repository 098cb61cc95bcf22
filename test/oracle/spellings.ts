/**
 * A statement in two spellings: as a caller writes it, and as the reference knows it, which has no pipes, runs no grouping sets and has no
 * INTERVAL. In most the two are one text.
 */
export type Spellings = { readonly sql: string; readonly plain: string };

/** What a caller writes, beside what the reference is asked: a part of a random text, in which parts may stand in one another. */
export function spelled(callers: string, plain: string): string {
  return `«${callers}¦${plain}»`;
}

/** Both spellings of a random text. */
export function spellingsOf(text: string): Spellings {
  return { sql: side(text, '$1'), plain: side(text, '$2') };
}

function side(text: string, which: '$1' | '$2'): string {
  let chosen = text;
  for (let outer = ''; outer !== chosen; ) {
    outer = chosen;
    chosen = chosen.replace(/«([^«»¦]*)¦([^«»¦]*)»/g, which);
  }
  return chosen;
}
