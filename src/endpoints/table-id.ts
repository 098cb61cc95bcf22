/** A table of the warehouse. */
export type TableId = { readonly project: string; readonly dataset: string; readonly table: string };

/** `project.dataset.table`; only a project may contain dots. */
export const tableIdPattern = /^[a-z][a-z0-9.:-]*[a-z0-9]\.\w+\.[\w-]+$/;

/** @returns undefined for other text than `project.dataset.table` */
export function parseTableId(text: string): TableId | undefined {
  if (!tableIdPattern.test(text)) return undefined;
  const beforeTable = text.lastIndexOf('.');
  const beforeDataset = text.lastIndexOf('.', beforeTable - 1);
  return {
    project: text.slice(0, beforeDataset),
    dataset: text.slice(beforeDataset + 1, beforeTable),
    table: text.slice(beforeTable + 1),
  };
}
