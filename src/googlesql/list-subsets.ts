import type { Column } from '../base/rows.ts';
import { type BindRequest, bindStatement } from './binder/bind-statement.ts';
import { resultColumns } from './binder/result-columns.ts';

/**
 * The top-level subsets of a saved query, in the order of its text.
 * @throws GatewayError `invalid_query` with line and column
 */
export function listSubsets(
  request: Omit<BindRequest, 'callerSql'>,
): { readonly name: string; readonly columns: readonly Column[] }[] {
  const { savedSubsets } = bindStatement(request);
  return savedSubsets.map(({ name, query }) => ({ name, columns: resultColumns(query.columns) }));
}
