import type { DuckDBConnection } from '@duckdb/node-api';

/** What DuckDB's own parser finds in a statement: tables that no CTE of it defines, and whatever else it reads from. */
export type Printed = { readonly tables: readonly string[]; readonly strangers: readonly string[] };

type Node = { readonly [key: string]: unknown };

/** Functions that tell of the process, its files or its catalogue; any table function does as well. */
const forbiddenFunction =
  /^(?:read_|duckdb_|pragma_|pg_|query|glob|getenv|getvariable|current_|nextval|currval|sniff|write_log|json_execute|json_serialize|session_|txid)/;

/** Asks DuckDB for the syntax trees of statements: a judge that shares nothing with the printer it judges. */
export async function readPrinted(
  connection: DuckDBConnection,
  statements: readonly string[],
): Promise<readonly Printed[]> {
  const list = statements.map(sql => `('${sql.replaceAll("'", "''")}')`).join(', ');
  const trees = await connection.runAndReadAll(`select json_serialize_sql(x) from (values ${list}) as t(x)`);
  return trees.getRows().map(([tree]) => readTree(String(tree)));
}

function readTree(text: string): Printed {
  const tables = new Set<string>();
  const subsets = new Set<string>();
  const strangers: string[] = [];
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(visit);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return;
    const node = value as Node; // JSON: what is neither a list nor a scalar is an object
    if (node.type === 'BASE_TABLE') {
      tables.add([node.catalog_name, node.schema_name, node.table_name].filter(Boolean).join('.'));
    } else if (['TABLE_FUNCTION', 'SHOW_REF', 'PIVOT'].includes(String(node.type))) {
      strangers.push(JSON.stringify(node).slice(0, 200));
    }
    if ('cte_map' in node) {
      for (const { key } of (node.cte_map as { map: readonly { key: string }[] }).map) subsets.add(key);
    }
    const name = String(node.function_name ?? '');
    if (forbiddenFunction.test(name)) strangers.push(name);
    Object.values(node).forEach(visit);
  };
  const tree = JSON.parse(text) as { error: boolean; statements?: readonly unknown[] };
  if (tree.error || tree.statements?.length !== 1) strangers.push(text.slice(0, 300));
  visit(tree.statements);
  return { tables: [...tables].filter(name => !subsets.has(name)), strangers };
}
