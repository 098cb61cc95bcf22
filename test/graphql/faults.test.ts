import { expect, onTestFinished, test } from 'vitest';
import { createGraphqlHandler } from '../../src/graphql/answer-graphql.ts';
import type { RequestContext } from '../../src/http-messages/request-context.ts';
import type { PipelineDeps } from '../../src/pipeline/run-endpoint.ts';
import { openGateway } from '../support/open-gateway.ts';

const sql = `/*
id: 00000000-0000-0000-0000-000000000001
name: broken
description: Its engine has a bug.
columns:
  n: { type: INT64, description: A number. }
*/
select 1 as n`;

test("a bug of ours shows nothing to the caller, and is reported with the request's id", async () => {
  const bug = new TypeError('cannot read the secret');
  const gateway = await openGateway({
    sqlFiles: { 'broken.sql': sql },
    engine: {
      describe: async () => [{ name: 'n', type: 'INT64', mode: 'NULLABLE' }],
      async run() {
        throw bug;
      },
    },
  });
  onTestFinished(gateway.close);
  const { text, body } = await gateway.graphql('{ broken { n } }', {}, { 'x-request-id': 'the-request' });
  expect(body).toMatchObject({
    data: { broken: null },
    errors: [{ message: 'Internal error', extensions: { code: 'internal', status: 500 } }],
    extensions: { request_id: 'the-request' },
  });
  expect(text).not.toContain('secret');
  expect(gateway.events).toContainEqual({ type: 'http.bug', requestId: 'the-request', cause: bug });
});

test("a bug before the operation shows nothing either, and is reported with the request's id", async () => {
  const bug = new TypeError('cannot read the secret');
  const reported: unknown[] = [];
  const handle = createGraphqlHandler({
    pipeline: {
      queryTimeoutMs: 10_000,
      tokens: {
        authenticate() {
          throw bug;
        },
      },
    } as unknown as PipelineDeps, // nothing else is asked before
    endpoints: { version: 1, all: () => [] } as never, // nor are these
    page: undefined,
    persisted: { listed: undefined, documents: { find: async () => undefined, keep: () => undefined } },
    onFault: (requestId, cause) => reported.push([requestId, cause]),
    onRefused: () => undefined,
  });
  const { status, body } = await handle({
    requestId: 'the-request',
    request: { method: 'POST', headers: {} },
    signal: new AbortController().signal,
  } as unknown as RequestContext);
  expect([status, JSON.parse(String(body))]).toEqual([
    500,
    {
      errors: [{ message: 'Internal error', extensions: { code: 'internal', status: 500 } }],
      extensions: { request_id: 'the-request' },
    },
  ]);
  expect(reported).toEqual([['the-request', bug]]);
});
