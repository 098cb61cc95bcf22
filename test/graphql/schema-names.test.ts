import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { EndpointDefinition } from '../../src/endpoints/definition.ts';
import { createTakenNames, sharedTypes } from '../../src/endpoints/graphql-names.ts';
import { parseDefinition } from '../../src/endpoints/parse-definition.ts';
import { buildSchema } from '../../src/graphql/build-schema.ts';

const words = fc.constantFrom('a', 'b', 'row', 'sql', 'Query', 'kind', 'json');
const names = fc
  .tuple(words, fc.array(fc.tuple(fc.constantFrom('.', '-', '_'), words), { maxLength: 2 }))
  .map(([first, rest]) => first + rest.map(([joint, word]) => joint + word).join(''));
const parameters = fc.record({
  name: fc.constantFrom('kind', 'a', 'b_kind', '_1'),
  typeName: fc.option(fc.constantFrom('ARow', 'Kind', 'BKind', 'JSON', 'SqlResult', 'Query')),
});
const files = fc.record({
  name: names,
  sandbox: fc.boolean(),
  parameters: fc.uniqueArray(parameters, { selector: ({ name }) => name, maxLength: 2 }),
});

function definitionOf(
  { name, sandbox, parameters: own }: typeof files extends fc.Arbitrary<infer T> ? T : never,
  at: number,
) {
  const lines = own.map(
    parameter =>
      `  ${parameter.name}: { type: enum, values: [x], description: K.${parameter.typeName ? `, typeName: ${parameter.typeName}` : ''} }`,
  );
  return parseDefinition(
    `${name}.sql`,
    `/*\nid: 00000000-0000-0000-0000-00000000000${at}\nname: ${name}\ndescription: T.\n${lines.length ? `parameters:\n${lines.join('\n')}\n` : ''}columns: { n: { type: INT64, description: N. } }\nsandbox: ${sandbox}\n*/\nselect 1 as n`,
  );
}

test('whatever saved queries are accepted beside each other have a GraphQL schema', () => {
  fc.assert(
    fc.property(fc.array(files, { minLength: 1, maxLength: 6 }), drawn => {
      const accepted: EndpointDefinition[] = [];
      const taken = createTakenNames();
      for (const [at, each] of drawn.entries()) {
        const definition = definitionOf(each, at);
        if (taken.problemsOf(definition).length > 0) continue;
        taken.add(definition);
        accepted.push(definition);
      }
      if (accepted.length === 0) return;
      const fields = buildSchema(accepted).getQueryType()?.getFields() ?? {};
      const expected = accepted.reduce((sum, { sandbox }) => sum + (sandbox ? 2 : 1), 0);
      expect(Object.keys(fields)).toHaveLength(expected);
    }),
    { numRuns: 200 },
  );
});

test('the names that no saved query may take are the types of the schema', () => {
  const definition = definitionOf({ name: 'zz', sandbox: true, parameters: [] }, 1);
  const types = Object.keys(buildSchema([definition]).getTypeMap());
  expect(types.filter(name => !name.startsWith('__') && !sharedTypes.includes(name))).toEqual(['ZzRow']);
});
