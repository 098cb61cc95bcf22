import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { beforeAll, describe, expect, test } from 'vitest';
import { maxHeaders } from '../../src/http-messages/http-limits.ts';
import { edgeRow } from '../support/edge-row.ts';
import { type OpenGateway, openGateway, testToken } from '../support/open-gateway.ts';
import { openRaw, readAnswers } from '../support/raw-connection.ts';

let gateway: OpenGateway;
beforeAll(async () => {
  gateway = await openGateway({
    rows: {
      'cloudflare.logs.prod': [edgeRow({ id: 'a', timestamp: '2026-01-15T11:00:00Z', project: 'ours' })],
    },
    now: '2026-01-15T12:00:00Z',
  });
  return gateway.close;
});

const logs = '/api/endpoints/query/logs.all';
const usage = '/api/endpoints/query/usage.api-counts';
const json = { 'content-type': 'application/json' };

/** What every failure looks like (contract 2.15). */
const errorBody = (code: string, status: number, message: unknown = expect.any(String)) => ({
  error: {
    code,
    message,
    status,
    errors: [expect.objectContaining({ reason: expect.any(String), message: expect.any(String) })],
    request_id: expect.any(String),
  },
});

/** Sends bytes as they are, and reads the answer until the server closes. */
async function sendRaw(bytes: string | Buffer) {
  const socket = connect(gateway.port, '127.0.0.1');
  socket.end(bytes);
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk);
  const [head = '', body = ''] = Buffer.concat(chunks).toString().split('\r\n\r\n');
  return { status: Number(head.split(' ')[1]), head, body: JSON.parse(body) };
}

describe('contract 2.15, 2.16: a malformed request gets JSON and the right status', () => {
  test.each([
    ['an unknown route', 'GET', '/api/queries', {}, 404, 'route_not_found'],
    ['an unknown route below the known', 'GET', `${logs}/more`, {}, 404, 'route_not_found'],
    ['an unknown endpoint', 'GET', '/api/endpoints/query/logs.none', {}, 404, 'endpoint_not_found'],
    ['an unknown UUID', 'GET', '/api/endpoints/query/00000000-0000-0000-0000-000000000000', {}, 404, 'endpoint_not_found'],
    ['a wrong method', 'DELETE', logs, {}, 405, 'method_not_allowed'],
    ['a method of another route', 'PUT', '/graphql', {}, 405, 'method_not_allowed'],
    ['a missing token', 'GET', `${logs}?project=ours`, { headers: { 'x-api-key': '' } }, 401, 'unauthorized'],
    ['a garbage token', 'GET', `${logs}?project=ours`, { headers: { 'x-api-key': 'garbage' } }, 401, 'unauthorized'],
    ['a Bearer without a token', 'GET', `${logs}?project=ours`, { headers: { authorization: 'Bearer ' } }, 401, 'unauthorized'],
    ['a missing parameter', 'GET', logs, {}, 400, 'invalid_parameter'],
    ['an empty required parameter', 'GET', `${logs}?project=`, {}, 400, 'invalid_parameter'],
    ['interval `weekly`', 'GET', `${usage}?interval=weekly&project=ours`, {}, 400, 'invalid_parameter'],
    ['timestamp `yesterday`', 'GET', `${logs}?project=ours&iso_timestamp_start=yesterday`, {}, 400, 'invalid_parameter'],
    ['regex `(`', 'GET', `${usage}?interval=daily&project=(`, {}, 400, 'invalid_parameter'],
    ['bad UTF-8 in an escape', 'GET', `${logs}?project=%FF`, {}, 400, 'invalid_request'],
    ['half an escape', 'GET', `${logs}?project=%`, {}, 400, 'invalid_request'],
    ['bad UTF-8 in the path', 'GET', '/api/endpoints/query/%C3', {}, 400, 'invalid_request'],
    ['a NUL', 'GET', `${logs}?project=%00`, {}, 400, 'invalid_parameter'],
    ['a 100 KB query string', 'GET', `${logs}?project=${'x'.repeat(100_000)}`, {}, 414, 'uri_too_long'],
    ['malformed JSON', 'POST', logs, { headers: json, body: '{"project"' }, 400, 'invalid_body'],
    ['a JSON array', 'POST', logs, { headers: json, body: '[]' }, 400, 'invalid_body'],
    ['bad UTF-8 in a body', 'POST', logs, { headers: json, body: Buffer.from([0x7b, 0xff, 0x7d]) }, 400, 'invalid_body'],
    ['a body of the wrong type', 'POST', logs, { headers: { 'content-type': 'text/plain' }, body: 'project=ours' }, 415, 'unsupported_media_type'],
    ['a form', 'POST', logs, { body: new URLSearchParams({ project: 'ours' }) }, 415, 'unsupported_media_type'],
    ['a body of 2 MB', 'POST', logs, { headers: json, body: ' '.repeat(2_000_000) }, 413, 'body_too_large'],
    ['a parameter that is an object', 'POST', logs, { headers: json, body: '{"project":{}}' }, 400, 'invalid_parameter'],
    ['an Accept without a format that is offered', 'GET', `${logs}?project=ours`, { headers: { accept: 'text/html' } }, 406, 'not_acceptable'],
    ['a redaction header of another value', 'GET', `${logs}?project=ours`, { headers: { 'lf-endpoint-redact-pii': 'yes' } }, 400, 'invalid_header'],
  ])('%s', async (_what, method, path, init, status, code) => {
    const answer = await gateway.send(path, { method, ...(init as RequestInit) });
    expect([answer.status, answer.body]).toEqual([status, errorBody(code, status)]);
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(answer.body.error.request_id).toBe(answer.headers.get('x-request-id'));
    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
  }); // biome-ignore format: a table

  test('an empty body with a JSON content type is no body', async () => {
    const answer = await gateway.send(`${logs}?project=ours`, { method: 'POST', headers: json, body: '' });
    expect([answer.status, answer.body.result.length]).toEqual([200, 1]);
    expect((await gateway.send(logs, { method: 'POST', headers: json, body: '' })).status).toBe(400);
  });

  test('contract 2.4: a GET with a JSON content type and no body', async () => {
    const headers = { 'content-type': 'application/json; charset=utf-8' };
    expect((await gateway.get(`${logs}?project=ours`, headers)).body.result).toHaveLength(1);
  });

  test('bytes that are not HTTP', async () => {
    const { status, body } = await sendRaw('hello\r\n\r\n');
    expect([status, body]).toEqual([400, errorBody('invalid_request', 400)]);
  });

  test.each(['\xff', '\xc3\xa9'])('raw bytes in the URL, UTF-8 or not: %j', async bytes => {
    const request = `GET ${logs}?project=${bytes} HTTP/1.1\r\nHost: x\r\nX-API-KEY: ${testToken}\r\n\r\n`;
    const { status, body } = await sendRaw(Buffer.from(request, 'latin1'));
    expect([status, body]).toEqual([400, errorBody('invalid_request', 400)]);
    expect(body.error.message).toContain('must be percent-encoded');
  });

  test('a URL beyond what the parser holds', async () => {
    const { status, body } = await sendRaw(`GET ${logs}?project=${'x'.repeat(400_000)} HTTP/1.1\r\n\r\n`);
    expect([status, body]).toEqual([414, errorBody('uri_too_long', 414)]);
  });

  test('headers beyond what the parser holds', async () => {
    const { status, body } = await sendRaw(
      `GET ${logs} HTTP/1.1\r\n${`A: ${'x'.repeat(1000)}\r\n`.repeat(400)}\r\n`,
    );
    expect([status, body]).toEqual([431, errorBody('headers_too_large', 431)]);
  });

  test('one header beyond what the parser holds is named beside the URL', async () => {
    const { body } = await sendRaw(`GET ${logs} HTTP/1.1\r\nHost: x\r\nA: ${'x'.repeat(400_000)}\r\n\r\n`);
    expect(body.error.message).toContain('or a header');
  });

  test('contract 2.28: more headers than the parser holds, however short', async () => {
    const ask = (more: number) =>
      sendRaw(`GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${'A:\r\n'.repeat(more)}\r\n`);
    expect((await ask(maxHeaders - 2)).status).toBe(200);
    const { status, body } = await ask(maxHeaders - 1);
    const message = expect.stringContaining('or 1000 headers');
    expect([status, body]).toEqual([431, errorBody('headers_too_large', 431, message)]);
  });

  test('a body that is shorter than it says', async () => {
    const head = `POST ${logs} HTTP/1.1\r\nHost: x\r\nX-API-KEY: ${testToken}\r\nContent-Type: application/json\r\n`;
    await sendRaw(`${head}Content-Length: 50\r\n\r\n{}`).catch(() => undefined);
    expect((await gateway.get('/health')).status).toBe(200);
  });

  test('CONNECT', async () => {
    expect(await sendRaw('CONNECT x:443 HTTP/1.1\r\nHost: x:443\r\n\r\n')).toMatchObject({
      status: 405,
      body: errorBody('method_not_allowed', 405),
    });
  });

  test('connections that are reset while their CONNECT is refused harm nobody', async () => {
    for (let n = 0; n < 200; n++) {
      const socket = connect(gateway.port, '127.0.0.1');
      socket.on('error', () => undefined); // it is reset on purpose
      await once(socket, 'connect');
      socket.write('CONNECT x:443 HTTP/1.1\r\nHost: x:443\r\n\r\n', () => socket.resetAndDestroy());
      await once(socket, 'close');
    }
    // An error without a listener would end the process; here the runner reports it as a failure.
    expect((await gateway.get('/health')).status).toBe(200);
  });

  test('a 405 says what is allowed', async () => {
    const { headers } = await gateway.send(logs, { method: 'DELETE' });
    expect(headers.get('allow')).toBe('GET, HEAD, POST, OPTIONS');
  });

  const head = `Host: x\r\nX-API-KEY: ${testToken}\r\n`;

  test.each([
    ['two Host headers', `GET ${logs}?project=ours HTTP/1.1\r\n${head}host: y\r\nConnection: close\r\n\r\n`, 400, 'invalid_request'],
    ['two Host headers by HTTP/1.0', `GET ${logs}?project=ours HTTP/1.0\r\n${head}Host: x\r\n\r\n`, 400, 'invalid_request'],
    ['HTTP/1.1 without Host', `GET ${logs}?project=ours HTTP/1.1\r\nX-API-KEY: ${testToken}\r\nConnection: close\r\n\r\n`, 400, 'invalid_request'],
    ['an Expect of something else', `POST ${logs} HTTP/1.1\r\n${head}Expect: the-unexpected\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}`, 417, 'expectation_failed'],
    ['a coded body', `POST ${logs} HTTP/1.1\r\n${head}Content-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}`, 415, 'unsupported_media_type'],
    ['a coded GraphQL body', `POST /graphql HTTP/1.1\r\n${head}Content-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}`, 415, 'unsupported_media_type'],
    ['a header that is none', `GET ${logs} HTTP/1.1\r\n${head}nonsense\r\n\r\n`, 400, 'invalid_request'],
    ['two lengths', `POST ${logs} HTTP/1.1\r\n${head}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`, 400, 'invalid_request'],
    ['a length and chunks', `POST ${logs} HTTP/1.1\r\n${head}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}`, 400, 'invalid_request'],
    ['chunks that are none', `POST ${logs} HTTP/1.1\r\n${head}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n`, 400, 'invalid_request'],
    ['GraphQL in chunks that are none', `POST /graphql HTTP/1.1\r\n${head}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n`, 400, 'invalid_graphql or invalid_request'],
    ['headers of 200 KB', `GET ${logs} HTTP/1.1\r\n${`A: ${'x'.repeat(1000)}\r\n`.repeat(200)}\r\n`, 431, 'headers_too_large'],
  ])('%s: JSON, with X-Request-Id (contract 2.15, 2.25, 2.29)', async (_what, bytes, status, code) => {
    const answer = await sendRaw(bytes);
    expect(answer.status).toBe(status);
    expect(answer.head).toMatch(/\r\nx-request-id: \S+/i);
    expect(answer.head).toMatch(/\r\ndate: \S+/i);
    const found = answer.body.error?.code ?? answer.body.errors[0].extensions.code;
    expect(code.split(' or ')).toContain(found);
  }); // biome-ignore format: a table

  test.each(['a b', 'a/b', 'x@y', 'http://x', 'x:y', 'x:1:2', '[::1', '::1', '%zz', 'é', '[]', 'x,y z', '"x"', 'x\\y'])(
    'contract 2.25: `Host: %s` is a 400',
    async host => {
      const answer = await sendRaw(`GET /livez HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
      expect([answer.status, answer.body.error.code]).toEqual([400, 'invalid_request']);
    },
  ); // biome-ignore format: a table

  test('contract 2.25: a Host may be any name or address, with a port or without, or empty', async () => {
    for (const host of ['', 'x', 'X_y.example.', 'x:', 'x:8080', '10.0.0.1:80', '[::1]', '[2001:db8::1]:443', 'xn--bcher-kva', 'a%20b', ':80']) {
      const { status } = await sendRaw(`GET /livez HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
      expect([host, status]).toEqual([host, 200]);
    }
  }); // biome-ignore format: a table

  test.each([
    ['a query', `GET ${logs}?project=ours HTTP/1.1\r\n${head}\r\n`],
    ['an answer of the gateway itself', `GET /health HTTP/1.1\r\n${head}\r\n`],
    ['two of them', `GET /health HTTP/1.1\r\n${head}\r\nGET ${logs}?project=ours HTTP/1.1\r\n${head}\r\n`],
  ])('a malformed request does not swallow the answer before it on its connection: %s', async (_what, first) => {
    for (const [second, status] of [['hello\r\n\r\n', 400], ['CONNECT x:443 HTTP/1.1\r\nHost: x:443\r\n\r\n', 405]] as const) {
      const connection = await openRaw(gateway.port);
      connection.write(first + second);
      const answers = readAnswers(await connection.ended);
      expect(answers.map(answer => answer.status)).toEqual([...first.matchAll(/GET/g)].map(() => 200).concat(status));
    }
  }); // biome-ignore format: a table

  test.each([
    ['GET', `${logs}?project=ours&lql=m.status:500`, undefined],
    ['GET', `${logs}?project=ours&lql=`, undefined],
    ['GET', `${usage}?interval=daily&project=ours&lql=x`, undefined],
    ['POST', `${logs}?project=ours`, '{"lql":"x"}'],
    ['POST', `${logs}?lql=x`, '{"project":"ours"}'],
  ])('contract 2.7: lql is answered 400: %s %s', async (method, path, body) => {
    const answer = await gateway.send(path, { method, headers: body ? json : {}, ...(body && { body }) });
    expect([answer.status, answer.body]).toEqual([400, errorBody('invalid_parameter', 400)]);
  });

  test('a message names the parameter, what was wrong and what is allowed', async () => {
    const { body } = await gateway.get(`${usage}?interval=weekly&project=ours`);
    expect(body.error.message).toBe(
      'Parameter "interval" is "weekly"; allowed: one of minutely, hourly, daily',
    );
  });
});

describe('drop-in mode, COMPAT=logflare', () => {
  let compat: OpenGateway;
  beforeAll(async () => {
    compat = await openGateway({
      now: '2026-01-15T12:00:00Z',
      environment: { COMPAT: 'logflare', TOKEN_HASHES: createHash('sha256').update('reader').digest('hex') },
    });
    return compat.close;
  });

  test.each([
    [`${usage}?interval=weekly&project=x`, 'invalid_parameter'],
    [logs, 'invalid_parameter'],
    [`${usage}?interval=daily&project=(`, 'invalid_parameter'],
    [`${logs}?project=x&sql=select+nothing`, 'invalid_query'],
    [`${logs}?project=x&sql=select+1+from+secrets`, 'sandbox_refused'],
  ])('contract 2.21: a query failure answers 200 with the same error object: %s', async (path, code) => {
    const { status, body } = await compat.get(path);
    expect([status, body]).toEqual([200, errorBody(code, 400)]);
  });

  test.each([
    [`${logs}?project=x`, { 'x-api-key': 'garbage' }],
    [`${logs}?project=x`, { 'x-api-key': '' }],
    ['/api/endpoints/query/none', {}],
    ['/nowhere', {}],
    [`${logs}?project=x&explain=true`, { 'x-api-key': 'reader' }],
  ])('contract 2.22: an access failure answers 401 and one body: %s %j', async (path, headers) => {
    const { status, text } = await compat.get(path, headers as Record<string, string>);
    expect([status, text]).toEqual([401, '{"error":"Unauthorized"}']);
  });

  test('what is neither keeps its status', async () => {
    expect((await compat.send(logs, { method: 'DELETE' })).status).toBe(405);
  });
});
