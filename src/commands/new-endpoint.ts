import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseDefinition } from '../endpoints/parse-definition.ts';
import type { Source, SourceField } from '../endpoints/sources.ts';
import { sqlColumnName, yamlKey } from '../endpoints/written-names.ts';
import { UsageError } from './command-line.ts';

/**
 * Writes the file of a saved query that shows the columns of a source, to begin with.
 * @returns its path
 * @throws DefinitionError for a name that no saved query can have; Error where the file is there already
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
