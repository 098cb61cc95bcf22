/** A table of the warehouse. */
export type TableId = { readonly project: string; readonly dataset: string; readonly table: string };

/** Tables by the name of the source that a saved query reads: `cloudflare.logs.prod`. */
export type TableMapping = ReadonlyMap<string, TableId>;

const assignment = /^([^=]+)=([a-z][a-z0-9.:-]*[a-z0-9])\.(\w+)\.([\w-]+)$/;

/**
 * Reads `source=project.dataset.table` assignments, white space around the sign allowed.
 * @throws Error that names the wrong assignment and what is allowed
 */
export function readTableMapping(assignments: readonly string[]): TableMapping {
  const mapping = new Map<string, TableId>();
  for (const text of assignments) {
    const [, source, project, dataset, table] = assignment.exec(text.replace(/\s*=\s*/, '=')) ?? [];
    if (!source || !project || !dataset || !table) {
      throw new Error(`${JSON.stringify(text)} is no assignment; allowed: source=project.dataset.table`);
    }
    if (mapping.has(source))
      throw new Error(`${source} is assigned twice; allowed: one table for each source`);
    mapping.set(source, { project, dataset, table });
  }
  return mapping;
}
