import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseDefinition } from '../endpoints/parse-definition.ts';
import type { Source, SourceField } from '../endpoints/source.ts';
import { sqlColumnName, yamlKey } from '../endpoints/written-names.ts';
import { UsageError } from './command-line.ts';

/**
 * Writes a first version of a saved query, which returns the columns of a source.
 * @returns its path
 * @throws DefinitionError for a name that a saved query can't have; Error if the file exists already
 */
export async function writeNewEndpoint(directory: string, name: string, source: Source): Promise<string> {
  const columns = Object.entries(source.columns);
  const text = `/*
id: ${randomUUID()}
name: ${name}
description: Rows of ${source.name}.
parameters:
  size: { type: INT64, min: 1, max: 1000, default: 100, description: The most rows. }
columns:
${columns.map(([column, field]) => `  ${yamlKey(column)}: { type: ${typeOf(field)}${Array.isArray(field) ? ', repeated: true' : ''}, description: The column ${column}. }`).join('\n')}
maxRows: 1000
*/
select ${columns.map(([column]) => sqlColumnName(column)).join(', ')}
from (
  select *, row_number() over () as row_at
  from \`${source.name}\`
)
where row_at <= @size
`;
  parseDefinition(`${name}.sql`, text);
  const path = join(directory, `${name}.sql`);
  await writeFile(path, text, { flag: 'wx' }).catch(error => {
    if (error.code !== 'EEXIST') throw error;
    throw new UsageError(`${path} is there already`);
  });
  return path;
}

function typeOf(field: SourceField): string {
  const element = Array.isArray(field) ? field[0] : field;
  return typeof element === 'string' ? element : 'STRUCT';
}
