import { expect, onTestFinished, test } from 'vitest';
import { openDoors } from '../support/open-doors.ts';

const sql = `/*
id: 00000000-0000-0000-0000-000000000001
name: broken
description: Its engine has a bug.
columns:
  n: { type: INT64, required: true, description: A number. }
*/
select 1 as n`;

test("a fault of ours says nothing to the caller, and is reported with the request's id", async () => {
  const bug = new TypeError('cannot read the secret');
  const failing = async () => {
    throw bug;
  };
  const doors = await openDoors({
    sqlFiles: { 'broken.sql': sql },
    engine: { run: failing, explain: failing },
  });
  onTestFinished(doors.close);
  const token = await doors.token();
  const response = await doors.fetch('/graphql', {
    method: 'POST',
    headers: { 'x-api-key': token, 'content-type': 'application/json', 'x-request-id': 'the-request' },
    body: '{"query":"{ broken { n } }"}',
  });
  const text = await response.text();
  expect(JSON.parse(text)).toMatchObject({
    data: { broken: null },
    errors: [{ message: 'Internal error', extensions: { code: 'internal', status: 500 } }],
    extensions: { request_id: 'the-request' },
  });
  expect(text).not.toContain('secret');
  expect(doors.events).toContainEqual({ type: 'http.bug', requestId: 'the-request', cause: bug });
});
