import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { credentials, loadPackageDefinition } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { freePort } from '../support/free-port.ts';
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
 * It boots in about half a second.
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
  const catalogOf = keepCatalogs(call, languageOptions);
  return {
    evaluate: async (sql, input) =>
      evaluate(call, languageOptions, sql, await catalogOf(input), input.parameters),
    stop: () => child.kill('SIGKILL'),
  };
}

/** The protocol's library takes the module for its class of 64-bit integers in some runtimes; then digits are lost. */
function keepLongIntegers(): void {
  const load = createRequire(require.resolve('@grpc/proto-loader'));
  const protobuf: { util: { Long: unknown }; configure(): void } = load('protobufjs');
  const long: { default?: unknown } = load('long');
  protobuf.util.Long = long.default ?? long;
  protobuf.configure();
}

type Client = Record<
  string,
  (request: object, done: (error: Error | null, answer: Record<string, unknown>) => void) => void
>;

let known: (new (...options: unknown[]) => Client) | undefined;

/** The protocol's client; to read its .proto files takes 0.3 s, once for all test files of a process. */
function clientOf(includeDirectory: string): NonNullable<typeof known> {
  if (known) return known;
  keepLongIntegers();
  const definition = loadSync('local_service.proto', {
    oneofs: true,
    longs: String,
    enums: String,
    includeDirs: [includeDirectory],
  });
  // The package is described by its .proto file only: these are the names in it.
  const { zetasql } = loadPackageDefinition(definition) as unknown as {
    zetasql: { local_service: { ZetaSqlLocalService: NonNullable<typeof known> } };
  };
  known = zetasql.local_service.ZetaSqlLocalService;
  return known;
}

function connect(includeDirectory: string, port: number): Call {
  const client = new (clientOf(includeDirectory))(`127.0.0.1:${port}`, credentials.createInsecure(), {
    'grpc.max_receive_message_length': -1,
    'grpc.max_send_message_length': -1,
  });
  return (method, request) =>
    new Promise((resolve, reject) => {
      client[method]!(request, (error, answer) => (error ? reject(error) : resolve(answer)));
    });
}

/** Most catalogues that are kept: each holds every function of GoogleSQL. */
const maxCatalogs = 4;

/**
 * Hands a catalogue with its rows over once for the statements that read it, in any order: to make one takes the server as long as a
 * small query. Inputs with the same objects as tables and rows are the same, and all that have no table.
 * @returns the server's number of the catalogue
 */
function keepCatalogs(call: Call, languageOptions: object): (input: ReferenceInput) => Promise<string> {
  const kept: { tables: object; rows: object; id: Promise<string> }[] = [];
  return ({ tables, rows }) => {
    const at = kept.findIndex(
      known =>
        (known.tables === tables && known.rows === rows) || (tables.length === 0 && known.rows === nothing),
    );
    const [known] = at === -1 ? [] : kept.splice(at, 1);
    const catalog = known ?? {
      tables,
      rows: tables.length === 0 ? nothing : rows,
      id: call('RegisterCatalog', catalogRequest(languageOptions, tables, rows)).then(({ registeredId }) =>
        String(registeredId),
      ),
    };
    kept.push(catalog);
    if (kept.length > maxCatalogs)
      void kept.shift()!.id.then(id => call('UnregisterCatalog', { registeredId: id }));
    return catalog.id;
  };
}

const nothing = {};

function catalogRequest(
  languageOptions: object,
  tables: readonly SmallTable[],
  rows: ReferenceInput['rows'],
): object {
  return {
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
  };
}

async function evaluate(
  call: Call,
  languageOptions: object,
  sql: string,
  registeredCatalogId: string,
  parameters: ReferenceInput['parameters'],
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
    registeredCatalogId,
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
