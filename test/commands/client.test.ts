import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { chartText } from '../../src/commands/client/print-chart.ts';
import { tableText } from '../../src/commands/client/print-table.ts';
import { type QueryDeps, runQueryCommand } from '../../src/commands/client/query-command.ts';
import { readQueryArguments } from '../../src/commands/client/read-arguments.ts';
import { readTable, type ShownColumn } from '../../src/commands/client/read-table.ts';
import { completionScript } from '../../src/commands/completion.ts';
import { writeRows } from '../../src/formats/write-rows.ts';
import { bodyOf, columns as everyColumn, rowLines } from '../formats/every-type.ts';
import { edgeRow } from '../support/edge-row.ts';
import { type OpenGateway, openGateway, testToken } from '../support/open-gateway.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const cli = fileURLToPath(new URL('../../src/cli.ts', import.meta.url));

let gateway: OpenGateway;
beforeAll(async () => {
  gateway = await openGateway({
    now: '2026-01-15T12:00:00Z',
    rows: {
      'cloudflare.logs.prod': [
        edgeRow({ id: 'a', timestamp: '2026-01-15T11:30:00Z', project: 'ours' }),
        edgeRow({ id: 'b', timestamp: '2026-01-15T11:59:00.000001Z', project: 'ours', path: '/auth/v1' }),
      ],
    },
  });
  return gateway.close;
});

/** Runs the command against the gateway; the screen is none unless given. */
const query = (line: string, more: Partial<QueryDeps> = {}) => runWith(line.split(' '), more);

async function runWith(args: readonly string[], more: Partial<QueryDeps> = {}) {
  const written: Buffer[] = [];
  const notes: string[] = [];
  await runQueryCommand(
    {
      environment: { GATEWAY_URL: gateway.origin, GATEWAY_TOKEN: testToken },
      out: { write: text => written.push(Buffer.from(text as string)) },
      note: text => notes.push(text),
      screen: undefined,
      signal: new AbortController().signal,
      ...more,
    },
    args,
  );
  return { out: Buffer.concat(written), notes };
}

describe('query', () => {
  const counts = 'usage.api-counts --interval minutely --project ours';

  test('prints what the gateway answers, in its formats', async () => {
    const { out } = await query(counts);
    expect(JSON.parse(out.toString()).result).toHaveLength(2);
    expect((await query(`${counts} --format csv`)).out.toString()).toMatch(
      /^timestamp,.*\r\n2026-01-15T11:30:00,1,/,
    );
    expect((await query(`${counts} --format parquet`)).out.subarray(0, 4).toString()).toBe('PAR1');
  });

  test('draws a table and a chart, by the types of the columns', async () => {
    const sql = '--param=sql=select\tid,timestamp\tfrom\tedge_logs\torder\tby\tid';
    expect((await query(`logs.all --project=ours ${sql} --format table`)).out.toString()).toBe(
      'id  timestamp\n' + 'a   2026-01-15T11:30:00Z\n' + 'b   2026-01-15T11:59:00.000001Z\n' + '(2 rows)\n',
    );
    const chart = (await query(`${counts} --format chart`)).out.toString().split('\n');
    expect(chart[0]).toBe(
      '█ total_rest_requests  ▓ total_storage_requests  ▒ total_auth_requests  ░ total_realtime_requests',
    );
    expect(chart[1]).toMatch(/^2026-01-15T11:30:00 █+ 1, 0, 0, 0$/);
    expect(chart[2]).toMatch(/^2026-01-15T11:59:00 ▒+ 0, 0, 1, 0$/);
  });

  test.each([
    ['logs.al --project ours', 'Did you mean logs.all? (endpoint_not_found)'],
    ['logs.all', 'Parameter "project"'],
    [
      'logs.all --projcet ours',
      'logs.all has no parameter "projcet"; allowed: project, iso_timestamp_start, iso_timestamp_end; Did you mean project?',
    ],
    ['logs.all --project ours --format tabel', 'Did you mean table?'],
    ['logs.all --project', '--project has no value'],
    ['logs.all --project ours --sql', '--sql has no value'],
    ['logs.all more', 'query takes the name or UUID of one saved query'],
    ['logs.all --every 0', '--every is "0"; allowed: 1 to 86400 seconds'],
    ['logs.all --url nowhere', 'The address of the gateway is "nowhere"'],
    ['logs.all --project ours --sql select(1)from(x)', 'at [1:16] (invalid_query)'],
    ['logs.all --project ours --sql=select\tid\tfrom\tedge_logs --format chart', 'there is nothing to draw'],
  ])('a mistake is explained: %s', async (line, message) => {
    await expect(query(line)).rejects.toThrow(message);
  });

  test('SQL that is too long for a URL is sent in a body', async () => {
    const sql = `select id from edge_logs${'\n'.repeat(30_000)}order by id`;
    const { out } = await runWith(['logs.all', '--project', 'ours', '--sql', sql, '--format', 'csv']);
    expect(out.toString()).toBe('id\r\na\r\nb\r\n');
  });

  test('a mistake that quotes a row does not steer the terminal', async () => {
    const sql = "select cast(concat('\\u001b]0;title', event_message) as int64) from edge_logs";
    const run = runWith(['logs.all', '--project', 'ours', '--sql', sql]);
    await expect(run).rejects.toThrow(' ]0;title');
    await expect(run).rejects.not.toThrow('\u001b');
  });

  test('there is no token, or a wrong one', async () => {
    const directory = await temporaryDirectory();
    // Not the folder of this project, where somebody may have started a gateway.
    const environment = { GATEWAY_URL: gateway.origin, DATA_DIR: directory };
    await expect(query('logs.all', { environment })).rejects.toThrow(/There is no token.* or a profile$/);
    await writeFile(join(directory, 'sample-token'), 'x');
    await expect(query('logs.all', { environment })).rejects.toThrow(
      `has that of ${join(directory, 'sample-token')}`,
    );
    await expect(query('logs.all --token nobody', { environment })).rejects.toThrow('(unauthorized)');
  });

  test('--watch shows what has changed, until it is ended', async () => {
    const ended = new AbortController();
    const shown: string[] = [];
    const out = { write: (text: string | Uint8Array) => shown.push(String(text)) };
    const running = query(`${counts} --format table --every 1`, {
      out,
      signal: ended.signal,
      screen: { width: 80, hasColour: false },
    });
    await gateway.until(() => gateway.events.filter(({ type }) => type === 'http.answered').length > 2);
    await gateway.until(() => shown.length >= 2);
    const before = shown.length;
    const asked = () =>
      gateway.events.filter(event => event.type === 'http.answered' && event.status === 304).length;
    const seen = asked();
    await gateway.until(() => asked() > seen);
    // The same rows are not drawn again.
    expect(shown).toHaveLength(before);
    ended.abort();
    await running;
  });
});

test.each([
  ['The token is revoked', '{"error":{"code":"unauthorized","message":"The token is revoked"}}'],
  ['The gateway refuses the token for this request', '{"error":"Unauthorized"}'],
])(
  '--watch goes on after a failure that passes, and ends with one that does not: %s',
  async (why, refusal) => {
    const answers = [
      [200, '{"result":[{"n":1}]}'],
      [503, '{"error":{"code":"unavailable","message":"It stops"}}'],
      [200, '{"result":[{"n":2}]}'],
      [401, refusal],
    ] as const;
    let at = 0;
    const server = createServer((_request, response) => {
      const [status, body] = answers[at++]!;
      response.writeHead(status, { 'content-type': 'application/json' }).end(body);
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo; // it listens on TCP
    const environment = { GATEWAY_URL: `http://127.0.0.1:${port}`, GATEWAY_TOKEN: 't' };
    const said: string[] = [];
    const out = { write: (text: string | Uint8Array) => said.push(String(text)) };
    const note = (text: string) => said.push(text);
    await expect(query('x --every 1', { environment, out, note })).rejects.toThrow(why);
    expect(said).toEqual(['{"result":[{"n":1}]}\n', 'It stops (unavailable)', '{"result":[{"n":2}]}\n']);
  },
);

test('arguments: options of the command, parameters of the saved query', () => {
  const args = [
    'logs.all',
    '--project',
    'a=b',
    '--ids=1',
    '--ids=2',
    '--sql',
    '-- all\nselect 1',
    '--param',
    'ids=3',
    '--param=ids=4',
  ];
  expect(readQueryArguments(args)).toEqual({
    endpoint: 'logs.all',
    parameters: [['project', 'a=b'], ['ids', '1'], ['ids', '2'], ['ids', '3'], ['ids', '4'], ['sql', '-- all\nselect 1']],
    format: undefined,
    everySeconds: undefined,
    url: undefined,
    token: undefined,
  }); // biome-ignore format: one list
  expect(readQueryArguments(['x', '--watch']).everySeconds).toBe(5);
});

describe('what is shown', () => {
  const column = (name: string, kind: ShownColumn['kind'], ...cells: (string | null)[]) => ({
    name,
    kind,
    cells,
  });
  const plain = { width: 30, hasColour: false };

  test('every type, as a person writes it', async () => {
    const table = readTable(await writeRows('arrow', everyColumn, bodyOf(rowLines)));
    const cells = Object.fromEntries(table.map(({ name, cells: own }) => [name, own[0]]));
    expect(cells).toMatchObject({
      whole: '9007199254740993', part: '1.5', yes: 'true', bytes: 'AP8=', exact: '12345678901234567890123456789.123456789',
      instant: '2026-01-15T10:00:00.123456Z', civil: '2026-01-15T10:00:00.000001', day: '2026-01-15', hour: '10:00:00.5',
      numbers: '[1,"9223372036854775807"]',
      record: '{"least":"-9223372036854775808","list":["p",""],"earliest":"0001-01-01T00:00:00Z"}',
      records: '[{"key":"x","decimals":["-0.5","0"],"inner":{"day":"0001-01-01"}},{"key":null,"decimals":[],"inner":null}]',
    }); // biome-ignore format: a table
    expect(table.map(({ cells: own }) => own[1])).toEqual(
      table.map(({ name }) => ({ n: '2', numbers: '[]', records: '[]' })[name] ?? null),
    );
  });

  test('fields of records have whatever names', async () => {
    const fields = ['__proto__', 'constructor', 'toJSON', 'a'].map(
      name => ({ name, type: 'INT64', mode: 'NULLABLE' }) as const,
    );
    const inner = '{"__proto__":1,"constructor":2,"toJSON":3,"a":null}';
    const columns = [
      { name: 'one', type: 'STRUCT', mode: 'NULLABLE', fields },
      { name: 'many', type: 'STRUCT', mode: 'REPEATED', fields },
    ] as const;
    const table = readTable(
      await writeRows('arrow', columns, bodyOf([`{"one":${inner},"many":[${inner}]}`])),
    );
    expect(table.map(({ cells }) => cells[0])).toEqual([inner, `[${inner}]`]);
  });

  test('a table fits the screen: long cells are cut, columns without room are named', () => {
    const columns = [
      column('n', 'number', '1', '20'),
      column('text', 'other', 'x'.repeat(40), null),
      column('more', 'other', 'y'.repeat(40), 'z'),
      column('last', 'other', 'not here', 'nor here'),
    ];
    expect(tableText(columns, plain).split('\n')).toEqual([
      ' n  text        more',
      ' 1  xxxxxxxxx…  yyyyyyyyy…',
      '20  NULL        z',
      '(2 rows; no room for last)',
      '',
    ]);
  });

  test('a table of many wide columns is no wider than the screen', () => {
    const wide = (name: string, length: number) => column(name, 'other', 'x'.repeat(length));
    const columns = [wide('id', 36), wide('timestamp', 27), wide('event_message', 90), wide('metadata', 400)];
    for (const width of [40, 79, 80, 81, 120, 200]) {
      const lines = tableText(columns, { width, hasColour: false }).split('\n').slice(0, 2);
      expect([width, lines.map(line => line.length <= width)]).toEqual([width, [true, true]]);
    }
  });

  test('characters that take two places keep the columns in line', () => {
    expect(
      tableText(
        [column('a', 'other', '漢字', 'e\u0301👩‍👩‍👧', 'abcd'), column('b', 'other', 'x', 'y', 'z')],
        plain,
      ),
    ).toBe('a     b\n漢字  x\ne\u0301👩‍👩‍👧   y\nabcd  z\n(3 rows)\n');
    const cut = tableText([column('a', 'other', '漢字漢字漢字漢字漢字漢字漢字漢字')], {
      width: 10,
      hasColour: false,
    });
    expect(cut).toContain('\n漢字漢字…\n');
  });

  test('what strangers sent does not steer the terminal', () => {
    const text = '\u001b]0;title\u0007\u001b[2J\r\n\u009b31m\u202e';
    for (const shown of [
      tableText([column('a', 'other', text)], plain),
      tableText([column(text, 'other', 'a'), column(`more ${text}`, 'other', 'b')], { ...plain, width: 9 }),
      chartText([column('a', 'other', text), column('n', 'number', '1')], plain)!,
    ]) {
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
      expect(shown.replaceAll('\n', '')).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202e]/);
    }
  });

  test('rows of a whole answer, and texts of a megabyte, are no more than a screen', () => {
    const rows = Array.from({ length: 100_000 }, () => '1');
    const long = column('text', 'other', 'é'.repeat(1_000_000), ...rows);
    const columns = [long, column('n', 'number', '1', ...rows)];
    expect(tableText(columns, plain).split('\n')[1]).toBe(`${'é'.repeat(9)}…  1`);
    expect(chartText(columns, plain)).toContain('█ n\n');
  });

  test('a bar is as long as its sum, and colours take the place of patterns', () => {
    const columns = [
      column('day', 'time', 'mon', 'tue'),
      column('a', 'number', '1', '2'),
      column('b', 'number', '1', null),
    ];
    expect(chartText(columns, plain)).toBe(
      '█ a  ▓ b\nmon █████████▓▓▓▓▓▓▓▓▓ 1, 1\ntue ██████████████████ 2, NULL\n',
    );
    expect(chartText(columns, { width: 30, hasColour: true })).toContain(
      '\u001b[34m█████████\u001b[0m\u001b[32m█████████\u001b[0m 1, 1',
    );
    expect(chartText([column('day', 'time', 'mon')], plain)).toBeUndefined();
    expect(chartText([column('n', 'number', '0', 'NaN', '-1')], plain)).toBe('█ n\n 0\n NaN\n -1\n');
  });
});

test('mcp over standard input answers the official client', async () => {
  const client = new Client({ name: 'test', version: '1' });
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [cli, 'mcp', '--url', gateway.origin],
    env: { GATEWAY_TOKEN: testToken },
  });
  await client.connect(transport);
  expect((await client.listTools()).tools.map(({ name }) => name)).toContain('logs_all_sql');
  const given = { project: 'ours', sql: 'select count(*) as n from edge_logs' };
  expect(await client.callTool({ name: 'logs_all_sql', arguments: given })).toMatchObject({
    structuredContent: { rows: [{ n: 2 }] },
  });
  await client.close();
});

test('mcp over standard input answers requests, and no notification', async () => {
  const message = (more: object) => `${JSON.stringify({ jsonrpc: '2.0', ...more })}\n`;
  const { stdout, stderr } = spawnSync(process.execPath, [cli, 'mcp', '--url', 'http://127.0.0.1:9'], {
    encoding: 'utf8',
    env: { GATEWAY_TOKEN: testToken },
    input: message({ method: 'notifications/initialized' }) + message({ method: 'tools/list', id: 0 }),
  });
  expect(
    stdout
      .trim()
      .split('\n')
      .map(line => JSON.parse(line)),
  ).toMatchObject([{ id: 0, error: { code: -32603 } }]);
  expect(stderr).not.toBe('');
});

test('a file .env is read, and the environment wins; help needs neither', async () => {
  const directory = await temporaryDirectory();
  await writeFile(join(directory, '.env'), 'PORT=four\nQUERY_TIMEOUT_MS=never\n');
  const run = (...args: string[]) =>
    spawnSync(process.execPath, [cli, ...args], {
      cwd: directory,
      encoding: 'utf8',
      env: { PATH: process.env.PATH, QUERY_TIMEOUT_MS: '1000' },
    });
  const { status, stderr } = run('doctor');
  expect([status, stderr]).toEqual([1, expect.stringContaining('PORT: ')]);
  expect(stderr).not.toContain('QUERY_TIMEOUT_MS');
  const mistyped = run('quer');
  expect([mistyped.status, mistyped.stderr]).toEqual([
    2,
    'No command is named "quer"; Did you mean query?\n\nsqg --help lists all commands.\n',
  ]);
  // Behind an option the word is its value.
  expect(run('query', 'x', '--search', 'help', '--url', 'http://127.0.0.1:9', '--token', 't')).toMatchObject({
    status: 1,
    stdout: '',
    stderr: expect.stringContaining('did not answer'),
  });
  const help = run('cache', '--help');
  expect([help.status, help.stdout]).toEqual([0, expect.stringContaining('cache invalidate <endpoint>')]);
});

test.each([
  ['a mark at its beginning is none of its own', '\ufeffPORT=four\r\n', ['PORT: ']],
  ['without it, the same', 'PORT=four\n', ['PORT: ']],
  ['a folder of the name is none', undefined, []],
])('a file .env: %s', async (_what, text, problems) => {
  const directory = await temporaryDirectory();
  if (text === undefined) await mkdir(join(directory, '.env'));
  else await writeFile(join(directory, '.env'), text);
  const { status, stderr } = spawnSync(process.execPath, [cli, 'token', 'list'], {
    cwd: directory,
    encoding: 'utf8',
    env: { PATH: process.env.PATH, DATA_DIR: directory },
  });
  expect([status, stderr]).toEqual(
    problems.length > 0 ? [1, expect.stringContaining(problems[0]!)] : [0, ''],
  );
});

describe('completion', () => {
  test('bash completes commands, options, formats and saved queries', () => {
    const script = completionScript('bash', ['query', 'token', 'start']);
    const complete = (...words: string[]) =>
      execFileSync(
        'bash',
        [
          '-c',
          `${script}\nCOMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); _sqg; echo "\${COMPREPLY[*]}"`,
          'bash',
          ...words,
        ],
        {
          encoding: 'utf8',
        },
      ).trim();
    expect(complete('sqg', 'qu')).toBe('query');
    expect(complete('sqg', 'token', 'r')).toBe('rotate revoke');
    expect(complete('sqg', 'query', 'usage.api-counts', '--in')).toBe('--interval');
    expect(complete('sqg', 'query', 'logs.all', '--iso')).toBe('--iso_timestamp_start --iso_timestamp_end');
    expect(complete('sqg', 'query', 'usage')).toBe('usage.api-counts');
    expect(complete('sqg', 'query', 'x', '--format', 'c')).toBe('chart csv');
  });

  test('bash runs no name of a file', async () => {
    const directory = await temporaryDirectory();
    const [bad, marker] = ['$(touch marker).sql', join(directory, 'marker')];
    for (const name of [bad, 'good.sql']) await writeFile(join(directory, name), '');
    const script = `${completionScript('bash', ['query'])}\ncd "$1"; COMP_WORDS=(sqg query ''); COMP_CWORD=2; SQL_DIR=. _sqg; echo "\${COMPREPLY[*]}"`;
    const completed = execFileSync('bash', ['-c', script, 'bash', directory], { encoding: 'utf8' });
    expect(completed).toContain('good');
    expect(existsSync(marker)).toBe(false);
  });

  test('the other shells have theirs; one that is not known is refused', () => {
    expect(completionScript('zsh', ['query'])).toMatch(/\nautoload -U \+X bashcompinit/);
    expect(completionScript('fish', ['query'])).toContain(
      'complete -c sqg -f -n __fish_use_subcommand -a "query"',
    );
    expect(() => completionScript('csh', [])).toThrow('allowed: bash, zsh, fish');
  });
});
