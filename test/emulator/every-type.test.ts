import { isDeepStrictEqual } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import { parseExactJson } from '../../src/base/json.ts';
import { type OpenGateway, openGateway } from '../support/open-gateway.ts';
import { faults, type TypedColumn, typedValues } from './every-type.ts';
import { type Emulator, startEmulator } from './start-emulator.ts';

const project = 'test';
type Row = { readonly id: unknown; readonly one: unknown; readonly many: unknown; readonly given: unknown };

const columns = Object.keys(typedValues) as TypedColumn[]; // of a record of them
const typeOf = (column: TypedColumn) => typedValues[column].type;

const source = (column: TypedColumn) => `name: typed.${column}
table: ${project}.typed.${column}
columns:
  id: { type: INT64, required: true }
  one: ${typeOf(column)}
  many: { type: ${typeOf(column)}, repeated: true }
`;

const literalOf = (type: string, text: string) =>
  type === 'BYTES' ? `from_base64('${text}')` : `cast(${JSON.stringify(text)} as ${type})`;

const query = (column: TypedColumn, at: number) => `/*
id: 0d7c1f0a-55a1-4f0e-8a5b-3c1f9a2b6d${String(at).padStart(2, '0')}
name: typed.${column}
description: Values of one type.
parameters:
  given: { type: ${typeOf(column)}, description: A value that comes back. }
columns:
  id: { type: INT64, required: true, description: Number. }
  one: { type: ${typeOf(column)}, description: A value. }
  many: { type: ${typeOf(column)}, repeated: true, description: Two values. }
  given: { type: ${typeOf(column)}, description: The parameter. }
*/
select id, one, many, @given as given from \`typed.${column}\` order by id`;

let emulator: Emulator;
let gateway: OpenGateway;
beforeAll(async () => {
  emulator = await startEmulator(project);
  await emulator.post(`/projects/${project}/datasets`, {
    datasetReference: { projectId: project, datasetId: 'typed' },
  });
  const run = (text: string, queryParameters: readonly object[] = []) =>
    emulator.post(`/projects/${project}/queries`, {
      query: text,
      useLegacySql: false,
      parameterMode: 'NAMED',
      queryParameters,
    });
  for (const column of columns) {
    const type = typeOf(column);
    const table = `\`${project}.typed.${column}\``;
    await run(`create table ${table} (id int64, one ${type}, many array<${type}>)`);
    await run(`insert into ${table} (id, one, many) values (9, null, [])`);
    for (const [at, text] of typedValues[column].texts.entries()) {
      const insert = (sql: string, given: readonly object[] = []) =>
        run(`insert into ${table} (id, one, many) values (${at}, ${sql}, [${sql}, ${sql}])`, given);
      // It takes no NaN in SQL, and no DATE as a parameter.
      await insert(literalOf(type, text)).catch(() =>
        insert('@v', [{ name: 'v', parameterType: { type }, parameterValue: { value: text } }]).catch(
          () => undefined,
        ),
      );
    }
  }
  gateway = await openGateway({
    sources: Object.fromEntries(columns.map(column => [`typed.${column}.yaml`, source(column)])),
    sqlFiles: Object.fromEntries(columns.map((column, at) => [`typed.${column}.sql`, query(column, at)])),
    environment: {
      ENGINE: 'bigquery',
      BIGQUERY_PROJECT: project,
      BIGQUERY_API_ENDPOINT: emulator.url,
      QUERY_TIMEOUT_MS: '60000',
    },
  });
  return async () => {
    await gateway.close();
    await emulator.stop();
  };
});

test.each(columns)(
  '%s: values and parameters come back as they went in, through a warehouse nobody here wrote',
  async column => {
    const { texts, rest } = typedValues[column];
    const known = faults[column] ?? {};
    const ask = (text: string) =>
      gateway.get(`/api/endpoints/query/typed.${column}?given=${encodeURIComponent(text)}`);
    const found: Record<number, object> = {};
    for (const [at, text] of texts.entries()) {
      const { status, text: body } = await ask(text);
      const answer = status === 200 ? (parseExactJson(body) as { result: Row[] }) : undefined;
      const row = answer?.result.find(({ id }) => String(id) === String(at));
      const wanted = parseExactJson(rest[at]!);
      const stored = row && isDeepStrictEqual([row.one, row.many], [wanted, [wanted, wanted]]);
      const fault = {
        ...(!stored && answer && { stored: row ? JSON.stringify(row.one) : 'refused' }),
        ...(!answer && { sent: 'refused' }),
        ...(answer &&
          !isDeepStrictEqual(answer.result[0]?.given, wanted) && {
            sent: JSON.stringify(answer.result[0]?.given),
          }),
      };
      if (Object.keys(fault).length > 0) found[at] = fault;
      const empty = answer?.result.find(({ id }) => String(id) === '9');
      if (answer) expect([empty?.one, empty?.many]).toEqual([null, []]);
    }
    expect(found).toEqual(known);
  },
);
