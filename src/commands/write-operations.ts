import { writeFile } from 'node:fs/promises';
import { readDefinitions } from '../endpoints/registry.ts';
import { buildSchema } from '../graphql/build-schema.ts';
import { listOperations } from '../graphql/operation-list.ts';

/**
 * Writes the list of the documents of a folder, checked against the saved queries.
 * @returns how many there are
 * @throws Error with a line for each document that does not fit
 */
export async function writeOperations(sqlDirectory: string, folder: string, file: string): Promise<number> {
  const list = await listOperations(folder, buildSchema(await readDefinitions(sqlDirectory)));
  await writeFile(file, `${JSON.stringify(list, undefined, 2)}\n`);
  return Object.keys(list).length;
}
