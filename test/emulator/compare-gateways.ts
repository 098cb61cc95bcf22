import { parseExactJson } from '../../src/base/json.ts';
import { sampleProjects } from '../../src/sample/vocabulary.ts';
import type { FleetAnswer, FleetGateway } from '../support/fleet.ts';

/** The project whose rows are asked for. */
export const [project] = sampleProjects;

/** The route of a saved query. */
export function rest(endpoint: string, parameters: Readonly<Record<string, string>>): string {
  return `/api/endpoints/query/${endpoint}?${new URLSearchParams(parameters)}`;
}

/** The route of a caller's SQL over `logs.all`. */
export const logs = (sql: string) => rest('logs.all', { project, sql });

type Twins = { readonly overEmulator: FleetGateway; readonly embedded: FleetGateway };

/** Asks both gateways the same, one after the other. */
export async function bothAnswer(twins: Twins, ask: (gateway: FleetGateway) => Promise<FleetAnswer>) {
  return { overEmulator: await ask(twins.overEmulator), embedded: await ask(twins.embedded) };
}

/** Rows, or what went wrong. Numbers are compared as numbers, whatever their text: FLOAT64 1 may be `1` or `1.0`. */
export function contentOf({ status, text }: FleetAnswer) {
  const { result, error } = parseExactJson(text) as { result?: unknown[]; error?: { code: string } }; // contract 2.11
  return status === 200 ? { rows: result ?? [] } : { status, code: error?.code };
}

/** The same, where the query leaves the order of its rows open. */
export function unorderedContentOf(answer: FleetAnswer) {
  const content = contentOf(answer);
  return content.rows ? { rows: content.rows.map(row => JSON.stringify(row)).sort() } : content;
}
