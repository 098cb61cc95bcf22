import type { RefusedStatement } from '../pipeline/refused-statement.ts';

/** A refused statement as a check and an explanation show it: `docs/rest.md` and OpenAPI describe this object. */
export function renderRefusal({ code, message, position }: RefusedStatement): object {
  return { verdict: 'refused', error: { code, message, ...position } };
}
