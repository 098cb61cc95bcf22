import type { EndpointDefinition } from './definition.ts';
import { graphqlName, graphqlTypeName, sqlFieldName } from './names.ts';
import { type DefinitionProblem, headerLine } from './parse-definition.ts';

/** A name that a saved query takes in GraphQL, and the header key from which it comes. */
type TakenName = {
  readonly kind: 'field' | 'type';
  readonly name: string;
  readonly key: readonly string[];
};

/** Types of the schema that belong to no saved query. */
export const sharedTypes: readonly string[] = [
  'Query', 'String', 'Int', 'Float', 'Boolean', 'ID', 'BigInt', 'Date', 'DateTime', 'Float64', 'JSON', 'SqlColumn', 'SqlResult',
]; // biome-ignore format: one list

/** The GraphQL names and UUIDs of saved queries, which must be unique in the one schema. */
export type TakenNames = {
  add(definition: EndpointDefinition): void;
  /**
   * Problems with the names of a saved query, by themselves and together with those added before.
   * @param more text to append to the message about a name that another file has
   */
  problemsOf(definition: EndpointDefinition, more?: (owner: string) => string): DefinitionProblem[];
};

/** Makes a list with only the names of the service itself. */
export function createTakenNames(): TakenNames {
  const ids = new Map<string, string>();
  const owners = new Map(sharedTypes.map(name => [`type ${name}`, 'the service itself']));
  return {
    add(definition) {
      ids.set(definition.id, definition.file);
      for (const { kind, name } of namesOf(definition)) owners.set(`${kind} ${name}`, definition.file);
    },
    problemsOf(definition, more = () => '') {
      const { file, sql, id } = definition;
      const problem = (key: readonly string[], message: string) => ({
        line: headerLine(file, sql, key),
        key: key.join('.'),
        message,
      });
      const own = new Map<string, string>();
      const taken = (owner: string) => `is taken by ${owner} already${more(owner)}`;
      const ownerOfId = ids.get(id);
      const problems = ownerOfId === undefined ? [] : [problem(['id'], taken(ownerOfId))];
      for (const { kind, name, key } of namesOf(definition)) {
        const owner = owners.get(`${kind} ${name}`) ?? own.get(`${kind} ${name}`);
        own.set(`${kind} ${name}`, 'this file');
        if (owner) problems.push(problem(key, `has the GraphQL ${kind} ${name}, which ${taken(owner)}`));
      }
      return [
        ...problems,
        ...unspeakable(definition).map(key => problem(key, 'has no name in GraphQL: it has no letter first')),
      ];
    },
  };
}

function namesOf({ name, sandbox, parameters }: EndpointDefinition): TakenName[] {
  const enums = parameters.filter(({ type }) => type === 'enum');
  return [
    { kind: 'field', name: graphqlName(name), key: ['name'] },
    ...(sandbox ? [{ kind: 'field', name: sqlFieldName(name), key: ['name'] } as const] : []),
    { kind: 'type', name: `${graphqlTypeName(name)}Row`, key: ['name'] },
    ...enums.map(parameter => ({
      kind: 'type' as const,
      name: enumTypeName(name, parameter),
      key: ['parameters', parameter.name, ...(parameter.typeName ? ['typeName'] : [])],
    })),
  ];
}

/** The GraphQL type of an enum parameter. */
export function enumTypeName(
  endpoint: string,
  { name, typeName }: Pick<EndpointDefinition['parameters'][number], 'name' | 'typeName'>,
): string {
  return typeName ?? graphqlTypeName(endpoint) + graphqlTypeName(name);
}

/** Keys of parameters and columns such as `_1`, which are valid in SQL but give no GraphQL name. */
function unspeakable({ parameters, columns }: EndpointDefinition): string[][] {
  const keysOf = (section: string, all: readonly { readonly name: string }[]) =>
    all.filter(({ name }) => !/^[A-Za-z]/.test(graphqlName(name))).map(({ name }) => [section, name]);
  return [...keysOf('parameters', parameters), ...keysOf('columns', columns)];
}
