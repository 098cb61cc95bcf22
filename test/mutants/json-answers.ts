import type { Mutant } from './mutant.ts';

const nested = 'test/contract/nested-answers.test.ts';
const functionRow = 'src/googlesql/functions/function-row.ts';

/** Gives the result of one function the storage of its argument, which the function takes as a list: what is printed is not what is typed. */
const mistyped = (name: string, title: string): Mutant => ({
  promise: `what is printed for ${title} is what its type says`,
  file: functionRow,
  find: 'type: filled(chosen.returns, variable),',
  replace: `type:
      (what.endsWith(' ${name}') && given.find(({ type }) => type.kind === 'ARRAY')?.type) || filled(chosen.returns, variable),`,
  test: [nested, title],
});

/** Answers a nested value as broken JSON: each suite reads what it is answered, whatever else it is about. */
const broken = (suite: string, ...test: Mutant['test']): Mutant => ({
  promise: `${suite} parses the answers that it gets`,
  file: 'src/googlesql/printer/finish-row.ts',
  find: "replace(opening.length, '[{');",
  replace: "replace(opening.length, '[{,');",
  test,
});

export const jsonAnswers: readonly Mutant[] = [
  mistyped('ANY_VALUE', 'any_value(metadata) as metadata'),
  mistyped('ANY_VALUE', 'any_value(metadata having max timestamp)'),
  mistyped('ANY_VALUE', 'any_value(metadata having min timestamp)'),
  mistyped('FIRST_VALUE', 'first_value(metadata)'),
  mistyped('LAST_VALUE', 'last_value(metadata)'),
  mistyped('NTH_VALUE', 'nth_value(metadata, 1)'),
  mistyped('LAG', 'lag(metadata, 0)'),
  mistyped('LEAD', 'lead(metadata, 0)'),
  mistyped('COALESCE', 'coalesce(metadata, metadata)'),
  mistyped('IF', 'if(id is null, null, metadata)'),
  mistyped('IFNULL', 'ifnull(metadata, metadata)'),
  mistyped('ARRAY_CONCAT', 'array_concat(metadata)'),
  mistyped('ARRAY_REVERSE', 'array_reverse(metadata)'),
  {
    promise: 'CASE gives a nested value as what its type says',
    file: 'src/googlesql/binder/bind-expression.ts',
    find: "unify(results.map(asComputed), 'operator CASE', syntax.at)",
    replace: "{ ...unify(results.map(asComputed), 'operator CASE', syntax.at), type: results.at(-1)!.type }",
    test: [nested, 'case when id is null then null else metadata end'],
  },
  {
    promise: 'a cast changes the storage that is printed as it changes the one that is typed',
    file: 'src/googlesql/printer/print-storage.ts',
    find: ': asList(sql, from);',
    replace: ": '[' + sql + ']';",
    test: [nested, 'answers as the column itself'],
  },
  {
    promise: 'a record around a nested value is answered',
    file: 'src/googlesql/binder/bind-nested.ts',
    find: "return { name: alias?.name ?? implied ?? '', type: typeAsPart(value) };",
    replace:
      "return { name: alias?.name ?? implied ?? '', type: value.type.kind === 'ARRAY' ? { ...value.type, single: true } : value.type };",
    test: [nested, 'answers records around it, and what is counted in it'],
  },
  {
    promise: 'an aggregate over the elements of a nested value is answered in a subquery',
    file: 'src/googlesql/printer/print-from.ts',
    find: 'if (isSingle) return singleElement(printer, from, input, array);',
    replace: '',
    test: [nested, 'answers records around it, and what is counted in it'],
  },
  {
    promise: 'a time zone that is unknown is the fault of the caller',
    file: 'src/googlesql/functions/times/time-arguments.ts',
    find: 'const zone = readZone(value.value);',
    replace: 'const zone = readZone(value.value) ?? { name: value.value, minutes: 0 };',
    test: [nested, "an unknown time zone is the caller's fault"],
  },
  {
    promise: 'a calculated time zone that is unknown is the fault of the caller',
    file: 'src/googlesql/times/read-zone.ts',
    find: 'known.get(text) ?? readZone(text);',
    replace: 'known.get(text) ?? readZone(text) ?? { name: text, minutes: 0 };',
    test: [nested, "select datetime(timestamp, concat('Nowhere', '/Land')) as x from edge_logs"],
  },
  broken(
    'the suite of the contract',
    'test/contract/logs-all.test.ts',
    'contract 1.4: only rows of `project`',
  ),
  broken('the suite of GraphQL', 'test/graphql/graphql-handler.test.ts', 'contract 3.2: logsAll'),
  broken('the suite of agents', 'test/mcp/mcp.test.ts', 'calls one, and gets rows that fit its schema'),
  broken(
    'the suite of the sandbox',
    'test/sandbox/fuzz.test.ts',
    'every source holds rows that a leak would show',
  ),
  broken(
    'the comparison with the reference',
    'test/oracle/nested.test.ts',
    'a nested value is answered like the reference whatever hands it on',
  ),
];
