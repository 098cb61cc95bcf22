import { expect, test } from 'vitest';
import { GatewayError } from '../../src/base/errors.ts';
import { scalarFunctionRows, specialFunctions } from '../../src/googlesql/functions/all-functions.ts';
import { type FunctionRow, unsupported } from '../../src/googlesql/functions/function-row.ts';
import { aggregateRows, windowRows } from '../../src/googlesql/functions/functions-aggregate.ts';
import { warehouseAggregateRows, warehouseRows } from '../../src/googlesql/functions/warehouse-functions.ts';
import { UnsupportedSql } from '../../src/googlesql/tree/sql-error.ts';
import { typeName } from '../../src/googlesql/tree/types.ts';
import { bindCaller, compileCaller } from '../sandbox/compile-caller.ts';
import { constructs } from './dialect-constructs.ts';

const rows = Map.groupBy(
  [...aggregateRows, ...windowRows, ...scalarFunctionRows, ...warehouseAggregateRows, ...warehouseRows],
  ({ name }) => name,
);
const special = new Set([...Object.keys(specialFunctions), 'ARRAY_LENGTH']);

/** What a row takes, as its signature writes it. */
function parametersOf({ parameters, variadic }: FunctionRow): string {
  const words = parameters.map(parameter => {
    if (parameter.kind === 'exact') return typeName(parameter.type);
    return parameter.kind === 'variable' ? 'T' : 'ARRAY<T>';
  });
  return `(${words.join(', ')}${variadic ? '...' : ''})`;
}

function functionRow(name: string): string {
  const known = rows.get(name) ?? [];
  const here = new Set(known.filter(({ template }) => template !== unsupported).map(parametersOf));
  const further = new Set(known.map(parametersOf).filter(parameters => !here.has(parameters)));
  if (here.size === 0 && !special.has(name)) return `| ${name} | no | yes | |`;
  const only = special.has(name) ? 'some forms' : [...further].join(' ');
  return `| ${name} | yes | yes | ${further.size > 0 ? only : ''} |`;
}

/** Where a text is answered, as the front-end decides. */
function answers(callerSql: string): string {
  try {
    compileCaller(callerSql);
    return '| yes | yes |';
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    if (!(error instanceof UnsupportedSql)) return '| no | no |';
  }
  bindCaller(callerSql);
  return '| no | yes |';
}

const names = [...new Set([...rows.keys(), ...special])].sort();

const page = `# What callers' SQL may use

Written by \`npx vitest run test/docs/dialect.test.ts -u\` from the tables of the front-end; the test fails where they differ.

"Embedded" is \`ENGINE=duckdb\`, "warehouse" \`ENGINE=bigquery\`. What is valid GoogleSQL without a DuckDB form is refused by name on the
embedded engine, as "not supported on the embedded engine", and goes to the warehouse as the caller wrote it, after the front-end has
resolved its names, functions and types. What neither answers is refused before anything runs: it would reach out of the sandbox, or
the front-end does not know it.

## Constructs

| construct | embedded | warehouse |
|---|---|---|
${constructs.map(([name, callerSql]) => `| ${name} ${answers(callerSql)}`).join('\n')}

## Functions

A function that is not in this table is refused by both.

| function | embedded | warehouse | only on the warehouse |
|---|---|---|---|
${names.map(functionRow).join('\n')}
`;

test('contract 4.12: the page of the dialect says what the front-end answers', async () => {
  await expect(page).toMatchFileSnapshot('../../docs/dialect.md');
});
