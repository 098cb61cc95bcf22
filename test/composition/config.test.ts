import { expect, test } from 'vitest';
import { ConfigError, readConfig } from '../../src/composition/config.ts';

test('an empty environment gives the defaults, and an empty text counts as unset', () => {
  expect(readConfig({})).toMatchObject({
    PORT: 4000,
    HOST: '127.0.0.1',
    ENGINE: 'duckdb',
    SAMPLE_ROWS: 50_000,
  });
  expect(readConfig({ PORT: '', REDIS_URL: '' })).toEqual(readConfig({}));
  expect(readConfig({}).REDIS_URL).toBeUndefined();
});

test('texts are read as what they mean', () => {
  const config = readConfig({
    PORT: '0',
    GRAPHIQL: 'false',
    CORS_ORIGINS: 'https://a.example, https://b.example',
  });
  expect(config).toMatchObject({
    PORT: 0,
    GRAPHIQL: false,
    CORS_ORIGINS: ['https://a.example', 'https://b.example'],
  });
});

test('origins are those that browsers send, whatever is at their end', () => {
  const originsOf = (text: string) => readConfig({ CORS_ORIGINS: text }).CORS_ORIGINS;
  expect(
    originsOf('https://A.example/, http://b.example:80,https://c.example:8443,chrome-extension://abc/'),
  ).toEqual(['https://a.example', 'http://b.example', 'https://c.example:8443', 'chrome-extension://abc']);
  expect(originsOf('*,null')).toEqual(['*', 'null']);
  for (const text of [
    'studio.example',
    'https://a.example/x',
    'https://*.example',
    'https://',
    'localhost:3000',
  ]) {
    expect(() => originsOf(text)).toThrow(
      /^CORS_ORIGINS: .* is not an origin; allowed: \*, or an origin such as https:/,
    );
  }
});

test('every variable that is not allowed has its line', () => {
  const read = () =>
    readConfig({
      PORT: '70000',
      ENGINE: 'oracle',
      REDIS_URL: 'http://x',
      GRAPHIQL: 'yes',
      TOKEN_HASHES: 'abc',
    });
  expect(read).toThrow(ConfigError);
  expect(read).toThrow(
    /^PORT: .*\nENGINE: .*duckdb.*\nREDIS_URL: .*\nTOKEN_HASHES: must be SHA-256 .*\nGRAPHIQL: .*$/,
  );
});

test('blanks are no number: 0 would be no limit of bytes', () => {
  expect(() => readConfig({ BIGQUERY_MAX_BYTES_BILLED: ' ' })).toThrow(/^BIGQUERY_MAX_BYTES_BILLED: /);
  expect(readConfig({ BIGQUERY_MAX_BYTES_BILLED: ' 0 ' }).BIGQUERY_MAX_BYTES_BILLED).toBe(0);
});

test('a plain token that could be guessed is refused in production, and is not repeated', () => {
  const production = (token: string) => () => readConfig({ NODE_ENV: 'production', ACCESS_TOKEN: token });
  expect(production('x'.repeat(23))).toThrow(/^ACCESS_TOKEN: too short .*; allowed: 24 characters or more$/);
  expect(production('secret')).toThrow(/^(?!.*secret)/);
  expect(production('x'.repeat(24))().ACCESS_TOKEN).toHaveLength(24);
  expect(readConfig({ ACCESS_TOKEN: 'dev' }).ACCESS_TOKEN).toBe('dev');
  expect(readConfig({ NODE_ENV: 'production' }).ACCESS_TOKEN).toBeUndefined();
});

test('drop-in mode has the saved queries of a self-hosted Supabase, unless a folder or the warehouse is named', () => {
  const folderOf = (environment: Record<string, string>) => readConfig(environment).SQL_DIR;
  const warehouse = {
    ENGINE: 'bigquery',
    BIGQUERY_PROJECT: 'payer',
    BIGQUERY_TABLES: 'postgres.logs=acme.logs.postgres',
  };
  expect(folderOf({})).toBe('sql');
  expect(folderOf({ COMPAT: 'logflare' })).toBe('examples/supabase/sql');
  expect(folderOf({ COMPAT: 'logflare', SQL_DIR: 'mine' })).toBe('mine');
  expect(folderOf({ COMPAT: 'logflare', ...warehouse })).toBe('sql');
});

test('tables are read as the sources they stand for', () => {
  const config = readConfig({
    ENGINE: 'bigquery',
    BIGQUERY_PROJECT: 'payer',
    BIGQUERY_TABLES: 'postgres.logs=acme.logs.postgres, deno-relay-logs=acme.logs.relay',
  });
  expect([...(config.BIGQUERY_TABLES ?? [])]).toEqual([
    ['postgres.logs', { project: 'acme', dataset: 'logs', table: 'postgres' }],
    ['deno-relay-logs', { project: 'acme', dataset: 'logs', table: 'relay' }],
  ]);
});

test('the warehouse needs its project and its tables', () => {
  expect(() => readConfig({ ENGINE: 'bigquery' })).toThrow('BIGQUERY_PROJECT: needed for ENGINE=bigquery');
  expect(() => readConfig({ BIGQUERY_TABLES: 'logs' })).toThrow(
    'BIGQUERY_TABLES: "logs" is not an assignment; allowed: source=project.dataset.table',
  );
});
