import type { Engine } from '../engine/engine.ts';
import { GatewayError } from '../errors.ts';
import type { EndpointDefinition } from './definition.ts';
import { graphqlName } from './names.ts';
import { DefinitionError, type DefinitionProblem, headerLine } from './parse-definition.ts';

/**
 * Holds a definition against the engine: every name in its SQL resolves, and the query's columns are the header's,
 * in name, type and order.
 * @throws DefinitionError
 */
export async function checkDefinition(
  engine: Pick<Engine, 'describe'>,
  definition: EndpointDefinition,
): Promise<void> {
  const problems = [...duplicateFields(definition), ...(await columnProblems(engine, definition))];
  if (problems.length > 0) throw new DefinitionError(definition.file, problems);
}

async function columnProblems(
  engine: Pick<Engine, 'describe'>,
  definition: EndpointDefinition,
): Promise<DefinitionProblem[]> {
  const { file, sql, parameters, columns } = definition;
  let actual: Awaited<ReturnType<Engine['describe']>>;
  try {
    actual = await engine.describe({
      sql,
      parameters: parameters.map(({ name }) => ({ name, value: null })),
    });
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return [{ line: error.position?.line ?? 1, key: 'sql', message: error.message }];
  }
  const show = (column: { name: string; type: string; repeated: boolean } | undefined) =>
    column ? `${column.name} ${column.repeated ? `ARRAY<${column.type}>` : column.type}` : 'nothing';
  const problems: DefinitionProblem[] = [];
  for (let at = 0; at < Math.max(actual.length, columns.length); at++) {
    const selected = actual[at] && { ...actual[at]!, repeated: actual[at]!.mode === 'REPEATED' };
    const declared = columns[at];
    if (show(selected) === show(declared)) continue;
    const key = declared ? ['columns', declared.name] : ['columns'];
    problems.push({
      line: headerLine(file, sql, key),
      key: key.join('.'),
      message: `column ${at + 1} of the header is ${show(declared)}, of the query ${show(selected)}`,
    });
  }
  return problems;
}

/** `a_b` and `aB` are two columns of SQL but one field of GraphQL. */
function duplicateFields({ file, sql, parameters, columns }: EndpointDefinition): DefinitionProblem[] {
  const problems: DefinitionProblem[] = [];
  for (const [section, all] of [
    ['parameters', parameters],
    ['columns', columns],
  ] as const) {
    const seen = new Map<string, string>();
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
