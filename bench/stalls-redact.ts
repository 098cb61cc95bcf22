import { representationOf } from '../src/pipeline/representation.ts';
import { redactionKinds } from '../src/redaction/redaction-kinds.ts';
import { createRedactor } from '../src/redaction/redactor.ts';
import type { StallInput } from './stall-input.ts';

/** Texts that one recogniser or another has to look at closely. */
const units = ['1:', 'aaaaa:', '::1.', 'a@b.com', '1.2.3.4 ', 'eyJa.eyJb.', 'Bearer a='];

/** Hostile rows through redaction: just short enough to be redacted at once, and 6 MB in rows or in one string. */
export function redactStalls(): readonly StallInput[] {
  const redactor = createRedactor();
  return units.flatMap(unit =>
    [
      ['64 KB', 1, 64_000],
      ['6 MB in 100 rows', 100, 60_000],
      ['6 MB in one string', 1, 6_000_000],
    ].map(([name, rows, length]) => {
      const text = unit.repeat(Number(length) / unit.length);
      const body = Buffer.from(JSON.stringify(Array(Number(rows)).fill({ text })));
      // A new object each time: a representation that is there already costs nothing.
      const run = () =>
        representationOf(
          { columns: [], isTruncated: false, rowCount: 1, createdAtMs: 0, body },
          redactionKinds,
          redactor,
          { caller: 'bench', signal: new AbortController().signal },
        );
      return { name: `redact: ${name} of ${unit}`, run };
    }),
  );
}
