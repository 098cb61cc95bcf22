import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { credentials, loadPackageDefinition } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import {
  type ReferenceType,
  type ReferenceValue,
  referenceType,
  referenceValue,
  rowInWireForm,
  wireColumns,
} from './reference-values.ts';
import type { SmallTable, TableRow } from './small-tables.ts';
import type { WireColumn, WireValue } from './wire-values.ts';

const require = createRequire(import.meta.url);

/** What a statement gives: its typed rows, or the reason why it is none. */
export type ReferenceAnswer =
  | { readonly columns: readonly WireColumn[]; readonly rows: readonly (readonly WireValue[])[] }
  | { readonly error: string };

/** What a statement reads; every parameter is a STRING. */
export type ReferenceInput = {
  readonly tables: readonly SmallTable[];
  readonly rows: Readonly<Record<string, readonly TableRow[]>>;
  readonly parameters: Readonly<Record<string, string | null>>;
};

export type ReferenceServer = {
  evaluate(sql: string, input: ReferenceInput): Promise<ReferenceAnswer>;
  stop(): void;
};

type Call = (method: string, request: object) => Promise<Record<string, unknown>>;

type EvaluateResponse = {
  readonly prepared?: { readonly columns: readonly { name: string; type: ReferenceType }[] };
  readonly content?: { readonly tableData?: { readonly row?: readonly { cell?: ReferenceValue[] }[] } };
};

/**
 * Starts Google's reference implementation of GoogleSQL on a free loopback port.
 * It boots in about half a second and answers a small query in some 7 ms.
 */
export async function startReferenceServer(): Promise<ReferenceServer> {
  const main = require.resolve('@fivetrandevelopers/zetasql');
  const root = join(dirname(main), 'zetasql');
  const port = await freePort();
  const binary = join(root, process.arch === 'arm64' ? 'remote_server_arm.so' : 'remote_server.so');
  const child = spawn(binary, ['127.0.0.1', String(port)], { stdio: ['ignore', 'pipe', 'ignore'] });
  for await (const chunk of child.stdout) if (/listening/.test(String(chunk))) break;
  const call = connect(join(root, 'protos'), port);
  const languageOptions = {
    ...(await call('GetLanguageOptions', { maximumFeatures: true })),
    productMode: 'PRODUCT_EXTERNAL',
  };
  return {
    evaluate: (sql, input) => evaluate(call, languageOptions, sql, input),
    stop: () => child.kill('SIGKILL'),
  };
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  probe.close();
  await once(probe, 'close');
  if (typeof address !== 'object' || !address) throw new Error('The probe has no port');
  return address.port;
}

/** The protocol's library takes the module for its class of 64-bit integers in some runtimes; then digits are lost. */
function keepLongIntegers(): void {
  const load = createRequire(require.resolve('@grpc/proto-loader'));
  const protobuf: { util: { Long: unknown }; configure(): void } = load('protobufjs');
  const long: { default?: unknown } = load('long');
  protobuf.util.Long = long.default ?? long;
  protobuf.configure();
}

function connect(includeDirectory: string, port: number): Call {
  keepLongIntegers();
  const definition = loadSync('local_service.proto', {
    oneofs: true,
    longs: String,
    enums: String,
    includeDirs: [includeDirectory],
  });
  // The package is described by its .proto file only: these are the names in it.
  const { zetasql } = loadPackageDefinition(definition) as unknown as {
    zetasql: { local_service: { ZetaSqlLocalService: new (...a: unknown[]) => Client } };
  };
  type Client = Record<
    string,
    (request: object, done: (error: Error | null, answer: Record<string, unknown>) => void) => void
  >;
  const client = new zetasql.local_service.ZetaSqlLocalService(
    `127.0.0.1:${port}`,
    credentials.createInsecure(),
    { 'grpc.max_receive_message_length': -1, 'grpc.max_send_message_length': -1 },
  );
  return (method, request) =>
    new Promise((resolve, reject) => {
      client[method]!(request, (error, answer) => (error ? reject(error) : resolve(answer)));
    });
}

async function evaluate(
  call: Call,
  languageOptions: object,
  sql: string,
  { tables, rows, parameters }: ReferenceInput,
): Promise<ReferenceAnswer> {
  const text = { typeKind: 'TYPE_STRING' };
  const request = {
    sql,
    options: {
      languageOptions,
      defaultTimezone: 'UTC',
      errorMessageMode: 'ERROR_MESSAGE_ONE_LINE',
      queryParameters: Object.keys(parameters).map(name => ({ name, type: text })),
    },
    simpleCatalog: {
      name: 'catalog',
      builtinFunctionOptions: { languageOptions },
      table: tables.map(({ name, columns }) => ({
        name,
        column: columns.map(column => ({ name: column.name, type: referenceType(column.type) })),
      })),
    },
    tableContent: Object.fromEntries(
      tables.map(({ name, columns }) => {
        const row = (rows[name] ?? []).map(values => ({
          cell: columns.map(column => referenceValue(column.type, values[column.name] ?? null)),
        }));
        return [name, { tableData: { row } }];
      }),
    ),
    params: Object.entries(parameters).map(([name, value]) => ({
      name,
      value: value === null ? {} : { stringValue: value },
    })),
  };
  try {
    // The shape is that of local_service.proto.
    const answer = (await call('EvaluateQuery', request)) as EvaluateResponse;
    const columns = answer.prepared?.columns ?? [];
    const found = answer.content?.tableData?.row ?? [];
    return {
      columns: wireColumns(columns),
      rows: found.map(row => rowInWireForm(columns, row.cell ?? [])),
    };
  } catch (error) {
    // A failed call carries the engine's own words in `details`.
    return { error: String((error as { details?: string }).details ?? error) };
  }
}
