import { parseQuery } from '../../src/googlesql/syntax/parse-query.ts';
import { foldName } from '../../src/googlesql/tree/scope.ts';
import type {
  CallSyntax,
  Expression,
  FromItem,
  Query,
  Select,
} from '../../src/googlesql/tree/syntax-tree.ts';

/** A place where a query reads a table, and the bounds on its partition column by which BigQuery can leave partitions out. */
export type TableRead = {
  readonly table: string;
  readonly line: number;
  /** Operators as if the column stood on the left. */
  readonly bounds: readonly string[];
};

/**
 * Finds what BigQuery can prune by: comparisons of the bare column with an expression that is constant for the query, joined to
 * the rest of WHERE by AND. A subquery is not constant, nor is anything over a column.
 * Source: BigQuery, "Query partitioned tables".
 */
export function tableReads(sql: string, column = 'timestamp'): TableRead[] {
  const reads: TableRead[] = [];
  visitQuery(parseQuery(sql), new Set());
  return reads;

  function visitQuery(query: Query, around: ReadonlySet<string>): void {
    const subsets = new Set(around);
    for (const { name, query: inner } of query.with) {
      visitQuery(inner, subsets);
      subsets.add(foldName(name.name));
    }
    visit([query.body, query.orderBy], subsets);
  }

  function visit(node: unknown, subsets: ReadonlySet<string>): void {
    if (typeof node !== 'object' || node === null) return;
    // The only nodes of the tree with these keys.
    if ('with' in node && 'body' in node) {
      visitQuery(node as Query, subsets);
      return;
    }
    if ('kind' in node && node.kind === 'select') noteTables(node as Select, subsets);
    for (const value of Object.values(node)) visit(value, subsets);
  }

  function noteTables({ from, where }: Select, subsets: ReadonlySet<string>): void {
    const items = from ? itemsOf(from) : [];
    const names = new Set(items.map(nameOf).map(foldName));
    for (const item of items) {
      if (item.kind !== 'table') continue;
      const [first] = item.path;
      if (item.path.length === 1 ? subsets.has(foldName(first!.name)) : names.has(foldName(first!.name)))
        continue;
      const bounds = conjuncts(where).flatMap(each => boundOn(each, column, item.alias?.name));
      reads.push({ table: item.path.map(({ name }) => name).join('.'), line: item.at.line, bounds });
    }
  }
}

function itemsOf(from: FromItem): FromItem[] {
  return from.kind === 'join' ? [...itemsOf(from.left), ...itemsOf(from.right)] : [from];
}

/** The name that the columns of an item go by. */
function nameOf(item: FromItem): string {
  if (item.kind === 'join' || item.kind === 'input') return '';
  return item.alias?.name ?? (item.kind === 'table' ? item.path.at(-1)!.name : '');
}

function conjuncts(where: Expression | undefined): Expression[] {
  if (where?.kind === 'binary' && where.operator === 'AND') {
    return [...conjuncts(where.left), ...conjuncts(where.right)];
  }
  return where ? [where] : [];
}

const mirrored: Readonly<Record<string, string>> = { '<': '>', '<=': '>=', '>': '<', '>=': '<=', '=': '=' };

function boundOn(expression: Expression, column: string, alias: string | undefined): string[] {
  const isColumn = (side: Expression) =>
    side.kind === 'path' &&
    foldName(side.parts.at(-1)!.name) === column &&
    (side.parts.length === 1 || (side.parts.length === 2 && side.parts[0]!.name === alias));
  if (expression.kind === 'between' && !expression.not && isColumn(expression.of)) {
    return [...(isConstant(expression.low) ? ['>='] : []), ...(isConstant(expression.high) ? ['<='] : [])];
  }
  if (expression.kind !== 'binary' || !(expression.operator in mirrored)) return [];
  const { operator, left, right } = expression;
  if (isColumn(left) && isConstant(right)) return [operator];
  return isColumn(right) && isConstant(left) ? [mirrored[operator]!] : [];
}

/** Whether no row has a part in it, and no other query. */
function isConstant(node: unknown): boolean {
  if (typeof node !== 'object' || node === null) return true;
  if ('kind' in node && ['path', 'subquery', 'inQuery'].includes(String(node.kind))) return false;
  // As above: an expression that is a call.
  if ('kind' in node && node.kind === 'call' && changing.has(calledBy(node as CallSyntax))) return false;
  return Object.values(node).every(isConstant);
}

/** Functions that differ from row to row. */
const changing = new Set(['rand', 'generate_uuid']);

function calledBy({ name }: CallSyntax): string {
  return name.map(part => part.name.toLowerCase()).join('.');
}
