import { GatewayError } from '../base/errors.ts';
import type { Engine, QueryParameter } from '../engine/engine.ts';
import { bindBatch } from './bind-batch.ts';
import type { EndpointDefinition } from './definition.ts';
import { graphqlName } from './names.ts';
import { scalarTypeOf, withoutValue } from './parameters/read-parameter.ts';
import { DefinitionError, type DefinitionProblem, headerLine } from './parse-definition.ts';

/**
 * Checks a definition against the engine: all names in its SQL must resolve, and the query's columns must match the header's
 * in name, type and order.
 * @throws DefinitionError
 */
export async function checkDefinition(
  engine: Pick<Engine, 'describe'>,
  definition: EndpointDefinition,
): Promise<void> {
  const problems = [
    ...duplicateFields(definition),
    ...(await columnProblems(engine, definition)),
    ...(await batchProblems(engine, definition)),
  ];
  if (problems.length > 0) throw new DefinitionError(definition.file, problems);
}

/** Problems of the batch form: its columns must be its key, followed by those of the query itself. */
async function batchProblems(
  engine: Pick<Engine, 'describe'>,
  definition: EndpointDefinition,
): Promise<DefinitionProblem[]> {
  const { file, sql, batch, parameters, columns } = definition;
  if (!batch) return [];
  const line = headerLine(file, sql, ['batch']);
  const actual = await describe(engine, batch.sql, bindBatch(definition, [], []));
  if ('message' in actual) {
    return [{ line, key: `batch: line ${actual.line} of its file`, message: actual.message }];
  }
  const batched = parameters.find(({ name }) => name === batch.parameter);
  const key = { name: batch.key, type: scalarTypeOf(batched ?? { type: 'string' }), repeated: false };
  const declared = [key, ...columns].map(show).join(', ');
  const selected = actual.map(showActual).join(', ');
  if (selected === declared) return [];
  return [{ line, key: 'batch', message: `its columns must be ${declared}; they are ${selected}` }];
}

type Described = Awaited<ReturnType<Engine['describe']>>;

async function describe(
  engine: Pick<Engine, 'describe'>,
  sql: string,
  parameters: readonly QueryParameter[],
): Promise<Described | { line: number; message: string }> {
  try {
    return await engine.describe({ sql, parameters });
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return { line: error.position?.line ?? 1, message: error.message };
  }
}

function show(column: { name: string; type: string; repeated: boolean } | undefined): string {
  return column ? `${column.name} ${column.repeated ? `ARRAY<${column.type}>` : column.type}` : 'nothing';
}

function showActual(column: Described[number] | undefined): string {
  return show(column && { ...column, repeated: column.mode === 'REPEATED' });
}

async function columnProblems(
  engine: Pick<Engine, 'describe'>,
  definition: EndpointDefinition,
): Promise<DefinitionProblem[]> {
  const { file, sql, parameters, columns } = definition;
  const actual = await describe(engine, sql, parameters.map(withoutValue));
  if ('message' in actual) return [{ line: actual.line, key: 'sql', message: actual.message }];
  const problems: DefinitionProblem[] = [];
  for (let at = 0; at < Math.max(actual.length, columns.length); at++) {
    const selected = showActual(actual[at]);
    const declared = columns[at];
    if (selected === show(declared)) continue;
    const key = declared ? ['columns', declared.name] : ['columns'];
    problems.push({
      line: headerLine(file, sql, key),
      key: key.join('.'),
      message: `column ${at + 1} of the header is ${show(declared)}, of the query ${selected}`,
    });
  }
  return problems;
}

/** `a_b` and `aB` are two columns of SQL but one field of GraphQL; `_sql` is the argument for the caller's own SQL. */
function duplicateFields(definition: EndpointDefinition): DefinitionProblem[] {
  const { file, sql, parameters, columns, sandbox } = definition;
  const problems: DefinitionProblem[] = [];
  for (const [section, all] of [
    ['parameters', parameters],
    ['columns', columns],
  ] as const) {
    const seen = new Map<string, string>();
    if (sandbox && section === 'parameters') seen.set('sql', "the caller's own SQL");
    for (const { name } of all) {
      const field = graphqlName(name);
      const first = seen.get(field);
      seen.set(field, name);
      if (first === undefined) continue;
      problems.push({
        line: headerLine(file, sql, [section, name]),
        key: `${section}.${name}`,
        message: `has the GraphQL name ${field}, as ${first} has`,
      });
    }
  }
  return problems;
}
