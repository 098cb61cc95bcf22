import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { lexicographicSortSchema, printSchema } from 'graphql';
import { parseExactJson } from '../base/json.ts';
import { readDefinitions } from '../endpoints/registry.ts';
import { buildSchema } from '../graphql/build-schema.ts';
import { writeOpenApi } from '../http/openapi.ts';

/** The two public contracts, as the text of their files in `schema/`. */
export type Schemas = { readonly 'schema.graphql': string; readonly 'openapi.json': string };

/** Renders the contracts of all saved queries of a folder. */
export async function renderSchemas(sqlDirectory: string): Promise<Schemas> {
  const endpoints = await readDefinitions(sqlDirectory);
  return {
    'schema.graphql': `${printSchema(lexicographicSortSchema(buildSchema(endpoints)))}\n`,
    'openapi.json': `${JSON.stringify(parseExactJson(await writeOpenApi(endpoints)), undefined, 2)}\n`,
  };
}

/** Writes `schema.graphql` and `openapi.json` into a folder. */
export async function writeSchemas(sqlDirectory: string, schemaDirectory: string): Promise<void> {
  for (const [file, text] of Object.entries(await renderSchemas(sqlDirectory))) {
    await writeFile(join(schemaDirectory, file), text);
  }
}
