import { parseExactJson } from '../exact-json.ts';

/** A row as GraphQL fields read it: the columns of the REST body, integers exact at any size. */
export type Row = Readonly<Record<string, unknown>>;

/** Reads the rows of a REST body `{"result":[…]}`. */
export function readRows(body: Buffer): Row[] {
  return (parseExactJson(body.toString()) as { result: Row[] }).result; // our own rendering
}
