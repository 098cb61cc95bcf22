import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { renderSchemas } from '../../src/commands/write-schemas.ts';

const root = (path: string) => new URL(`../../${path}`, import.meta.url);

test.each(['schema.graphql', 'openapi.json'] as const)(
  'contract 3.5: schema/%s is what the saved queries make (npm run schema)',
  async file => {
    const schemas = await renderSchemas(fileURLToPath(root('sql')));
    expect(readFileSync(root(`schema/${file}`), 'utf8')).toBe(schemas[file]);
  },
);
