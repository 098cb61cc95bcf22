import { writeFile } from 'node:fs/promises';
import { readDefinitions } from '../endpoints/registry.ts';
import { buildSchema } from '../graphql/build-schema.ts';
import { listOperations } from '../graphql/operation-list.ts';
import { UsageError } from './command-line.ts';

/**
 * Writes the list of the GraphQL documents of a folder, checked against the saved queries.
 * @returns their number
 * @throws AggregateError with a line for each document that does not fit; UsageError where there is none
 */
export async function writeOperations(sqlDirectory: string, folder: string, file: string): Promise<number> {
  const list = await listOperations(folder, buildSchema(await readDefinitions(sqlDirectory)));
  if (Object.keys(list).length === 0) throw new UsageError(`There is no .graphql or .gql file in ${folder}`);
  await writeFile(file, `${JSON.stringify(list, undefined, 2)}\n`);
  return Object.keys(list).length;
}
