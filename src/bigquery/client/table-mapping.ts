import { parseTableId, type TableId } from '../../endpoints/table-id.ts';

/** Tables by the name of the source that a saved query reads: `cloudflare.logs.prod`. */
export type TableMapping = ReadonlyMap<string, TableId>;

/**
 * Reads `source=project.dataset.table` assignments, white space around the sign allowed.
 * @throws Error that names the wrong assignment and what is allowed
 */
export function readTableMapping(assignments: readonly string[]): TableMapping {
  const mapping = new Map<string, TableId>();
  for (const text of assignments) {
    const [source, name = '', ...others] = text.split(/\s*=\s*/);
    const table = others.length === 0 ? parseTableId(name) : undefined;
    if (!source || !table) {
      throw new Error(`${JSON.stringify(text)} is not an assignment; allowed: source=project.dataset.table`);
    }
    if (mapping.has(source))
      throw new Error(`${source} is assigned twice; allowed: one table for each source`);
    mapping.set(source, table);
  }
  return mapping;
}
