import { afterEach, beforeAll, expect, test } from 'vitest';
import { GatewayError } from '../../src/base/errors.ts';
import type { Column, Receipt } from '../../src/base/rows.ts';
import type { Statement } from '../../src/engine/engine.ts';
import { type OpenGateway, openGateway, testToken } from '../support/open-gateway.ts';
import { type OpenedPage, openPage, violationsOf } from './open-browser.ts';
import type { Pages } from './pages.ts';

const events = `/*
id: 0d7c1f0a-55a1-4f0e-8a5b-3c1f9a2b4d77
name: events
description: Events.
parameters:
  from_start: { type: timestamp, description: Exclusive. }
  from_end: { type: timestamp, description: Inclusive. }
columns:
  id: { type: STRING, required: true, description: An id. }
  timestamp: { type: TIMESTAMP, required: true, description: When. }
  message: { type: STRING, description: What. }
maxRows: 30000
*/
select 1`;

/** A parameter of each kind, and an answer that is cached. */
const form = `/*
id: 0d7c1f0a-55a1-4f0e-8a5b-3c1f9a2b4d78
name: form
description: Everything that a form can have.
parameters:
  area: { type: enum, values: [north, south], required: true, description: One of few. }
  size: { type: INT64, min: 1, max: 50, default: 20, description: Within bounds. }
  states: { type: STRING, repeated: true, values: [open, paid, sent], default: [paid], description: Several of few. }
  names: { type: STRING, repeated: true, description: A list. }
  day: { type: DATE, min: 2020-01-01, description: A day. }
  at: { type: DATETIME, description: A time without a zone. }
  isNew: { type: BOOL, description: Yes or no. }
columns:
  id: { type: STRING, required: true, description: An id. }
  timestamp: { type: TIMESTAMP, required: true, description: When. }
  message: { type: STRING, description: What. }
cacheSeconds: 60
*/
select 1`;

const window = 'window: { start: from_start, end: from_end, default: 7d, max: 30d }\n';

/** Saved queries enough to be searched. */
const others = Array.from({ length: 7 }, (_, at) => {
  const text = events
    .replace('4d77', `4e7${at}`)
    .replace('name: events', `name: other.n${at}`)
    .replace('maxRows', `${window}maxRows`);
  return [`other.n${at}.sql`, text] as const;
});

const columns: Column[] = [
  { name: 'id', type: 'STRING', mode: 'NULLABLE' },
  { name: 'timestamp', type: 'TIMESTAMP', mode: 'NULLABLE' },
  { name: 'message', type: 'STRING', mode: 'NULLABLE' },
];

type Row = { id: string; timestamp: number; message: string | null };
type Answering = (
  statement: Statement,
  signal: AbortSignal,
) => Promise<{ rows: Row[]; isTruncated?: boolean; receipt?: Receipt }>;

/** Microseconds of a row so many seconds after noon. */
const at = (seconds: number) => Date.parse('2026-01-15T12:00:00Z') * 1000 + seconds * 1_000_000;

let answer: Answering;

async function run(statement: Statement, { signal }: { signal: AbortSignal }) {
  const { rows, isTruncated = false, receipt } = await answer(statement, signal);
  const rowsJson = Buffer.from(JSON.stringify(rows));
  return { columns, rowsJson, rowCount: rows.length, isTruncated, ...(receipt && { receipt }) };
}

/** The Explorer of a gateway whose engine does what a test says. */
export function testFaults(pages: Pages): void {
  let gateway: OpenGateway;
  let opened: OpenedPage;

  beforeAll(async () => {
    gateway = await openGateway({
      now: '2026-01-15T12:00:30Z',
      engine: { describe: async () => columns, run },
      sqlFiles: { 'events.sql': events, 'form.sql': form, ...Object.fromEntries(others) },
    });
    return () => gateway.close();
  });
  afterEach(() => opened.close());

  /** Opens the page of the endpoint, answered so. */
  async function open(answering: Answering, view = '/#/events') {
    answer = answering;
    opened = await openPage(pages.context, gateway.origin + view, { token: testToken });
    return opened.page;
  }

  test('shows new rows as they arrive, once each, until it is paused', async () => {
    const rows: Row[] = [{ id: 'a', timestamp: at(0), message: 'first' }];
    const page = await open(async ({ parameters }) => {
      const start = parameters.find(({ name }) => name === 'from_start')?.value;
      const from = start ? Date.parse(String(start)) * 1000 : 0;
      return { rows: rows.filter(({ timestamp }) => timestamp > from).reverse() };
    });
    const grid = page.getByRole('treegrid', { name: 'Rows' });
    await grid.getByText('first').waitFor();
    await page.clock.install();
    await page.getByRole('button', { name: 'Live' }).click();
    // Two rows of one time, of which one comes later.
    for (const [id, count] of [
      ['b', '3'],
      ['c', '4'],
    ] as const) {
      rows.push({ id, timestamp: at(5), message: 'later' });
      const arrived = async () => {
        await page.clock.fastForward(2000);
        return grid.getAttribute('aria-rowcount');
      };
      await expect.poll(arrived).toBe(count);
    }

    await page.getByRole('button', { name: 'Pause live' }).click();
    const sent: string[] = [];
    page.on('request', request => sent.push(request.url()));
    await page.clock.fastForward(60_000);
    // Asking by hand is the next thing that happens.
    answer = async () => ({ rows: [] });
    await page.getByRole('button', { name: 'Run' }).click();
    await page.getByText('No rows.').waitFor();
    expect(sent).toHaveLength(1);
    expect(opened.complaints).toEqual([]);
  });

  test('new rows leave the row that is read where it is', async () => {
    const rows = Array.from(
      { length: 200 },
      (_, i): Row => ({ id: `r${i}`, timestamp: at(i - 300), message: `row ${i}` }),
    );
    const page = await open(async ({ parameters }) => {
      const start = parameters.find(({ name }) => name === 'from_start')?.value;
      const from = start ? Date.parse(String(start)) * 1000 : -Infinity;
      return { rows: rows.filter(({ timestamp }) => timestamp > from).reverse() };
    });
    const grid = page.getByRole('treegrid', { name: 'Rows' });
    await grid.focus();
    for (const key of ['PageDown', 'PageDown', 'ArrowUp']) await page.keyboard.press(key);
    const active = grid.locator('.row.active');
    const placeInGrid = async () => (await active.boundingBox())!.y - (await grid.boundingBox())!.y;
    const [text, place] = [await active.innerText(), await placeInGrid()];
    await page.clock.install();
    await page.getByRole('button', { name: 'Live' }).click();
    for (const i of [0, 1, 2]) rows.push({ id: `new${i}`, timestamp: at(i), message: 'new' });
    const arrived = async () => {
      await page.clock.fastForward(2000);
      return grid.getAttribute('aria-rowcount');
    };
    await expect.poll(arrived).toBe('204');
    expect(await active.innerText()).toBe(text);
    await expect.poll(placeInGrid).toBe(place);
    expect(opened.complaints).toEqual([]);
  });

  test('live asks for times that move with the clock, goes on after a failure, and ends with the token', async () => {
    const asked = new Set<unknown>();
    const well: Answering = async ({ parameters }) => {
      asked.add(parameters.find(({ name }) => name === 'at')?.value);
      return { rows: [] };
    };
    const page = await open(well, '/#/form?area=north&at=~15m');
    await page.getByText('No rows.').waitFor();
    await page.clock.install();
    await page.getByRole('button', { name: 'Live' }).click();
    const whilePolling = async <T>(look: () => T | Promise<T>) => {
      await page.clock.fastForward(30_000);
      return look();
    };
    await expect.poll(() => whilePolling(() => asked.size)).toBeGreaterThan(1);
    answer = async () => {
      throw new GatewayError('engine_failed', 'for a while');
    };
    const alerts = () => page.getByRole('alert').count();
    await expect.poll(() => whilePolling(alerts)).toBe(1);
    answer = well;
    await expect.poll(() => whilePolling(alerts)).toBe(0);
    answer = async () => {
      throw new GatewayError('unauthorized', 'The token is revoked');
    };
    const isOver = () => page.getByRole('button', { name: 'Live', exact: true }).count();
    await expect.poll(() => whilePolling(isOver)).toBe(1);
  });

  test('live ends where the token may not ask any more', async () => {
    const page = await open(async () => ({ rows: [] }));
    await page.getByText('No rows.').waitFor();
    await page.clock.install();
    await page.getByRole('button', { name: 'Live' }).click();
    answer = async () => {
      throw new GatewayError('forbidden', 'no longer');
    };
    const ended = async () => {
      await page.clock.fastForward(30_000);
      return page.getByRole('button', { name: 'Live', exact: true }).count();
    };
    await expect.poll(ended).toBe(1);
    await page.getByRole('alert').getByText('no longer').waitFor();
  });

  test('the address has what was typed, however fast', async () => {
    const page = await open(async () => ({ rows: [] }), '/#/form');
    // As WebKit does.
    await page.evaluate(`{
      const replace = history.replaceState.bind(history);
      let calls = [];
      history.replaceState = (...given) => {
        calls = [...calls, performance.now()].filter(at => at > performance.now() - 10_000);
        if (calls.length > 100) throw new DOMException('More than 100 times per 10 seconds', 'SecurityError');
        replace(...given);
      };
    }`);
    const text = 'x'.repeat(400);
    await page.getByLabel('names').pressSequentially(text);
    await expect.poll(() => page.url()).toContain(`names=${text}`);
    expect(opened.complaints).toEqual([]);
  });

  test('says what is asked for where no range is chosen', async () => {
    const page = await open(async () => ({ rows: [] }), '/#/other.n1');
    expect(await page.getByRole('radio', { name: 'default: 7d' }).isChecked()).toBe(true);
    await page.getByRole('button', { name: /^events/ }).click();
    expect(await page.getByRole('radio', { name: 'any', exact: true }).isChecked()).toBe(true);
  });

  test('a bound of the range that is typed anew keeps its field', async () => {
    const page = await open(
      async () => ({ rows: [] }),
      '/#/events?from_start=2026-01-15T12%3A00%3A00%2B02%3A00',
    );
    const field = page.getByLabel('from_start: time in UTC');
    expect(await field.inputValue()).toMatch(/^2026-01-15T10:00/);
    await field.press('Backspace');
    expect(await field.inputValue()).toBe('');
    await field.fill('2026-01-15T11:00:00');
    await expect.poll(() => page.url()).toContain('from_start=2026-01-15T11%3A00%3A00Z');
  });

  test('loads older rows behind the ones that it has', async () => {
    const all = Array.from(
      { length: 30 },
      (_, i): Row => ({ id: `r${i}`, timestamp: at(-i), message: `row ${i}` }),
    );
    const page = await open(async ({ parameters }) => {
      const end = parameters.find(({ name }) => name === 'from_end')?.value;
      const to = end ? Date.parse(String(end)) * 1000 : Infinity;
      return { rows: all.filter(({ timestamp }) => timestamp <= to).slice(0, 10) };
    });
    const grid = page.getByRole('treegrid', { name: 'Rows' });
    await grid.getByText('row 0').waitFor();
    const older = page.getByRole('button', { name: 'Load older rows' });
    for (const [count, oldest] of [
      [10, '11:59:51'],
      [19, '11:59:42'],
      [28, '11:59:33'],
      [30, '11:59:31'],
    ] as const) {
      await page.getByText(`back to 2026-01-15 ${oldest} UTC`).waitFor();
      expect(await grid.getAttribute('aria-rowcount')).toBe(String(count + 1));
      await older.click();
    }
    // Nothing is older.
    await expect.poll(() => older.count()).toBe(0);
  });

  test('goes on behind more rows of one time than an answer holds, and names the time', async () => {
    const times = [0, ...Array.from({ length: 15 }, () => -1), -2, -3];
    const all = times.map((time, i): Row => ({ id: `r${i}`, timestamp: at(time), message: `row ${i}` }));
    const page = await open(async ({ parameters }) => {
      const end = parameters.find(({ name }) => name === 'from_end')?.value;
      const to = end ? Date.parse(String(end)) * 1000 : Infinity;
      return { rows: all.filter(({ timestamp }) => timestamp <= to).slice(0, 10) };
    });
    const grid = page.getByRole('treegrid', { name: 'Rows' });
    const older = page.getByRole('button', { name: 'Load older rows' });
    const note = page.getByText('11:59:59.000 UTC may have more rows than an answer holds');
    for (const [count, notes] of [
      [10, 0],
      [11, 0],
      [13, 1],
    ] as const) {
      await expect.poll(() => grid.getAttribute('aria-rowcount')).toBe(String(count + 1));
      expect(await note.count()).toBe(notes);
      await older.click();
    }
    await expect.poll(() => older.count()).toBe(0);
  });

  test('says that rows were cut, and draws few of many thousands, huge ones among them', async () => {
    const rows = Array.from(
      { length: 30_000 },
      (_, i): Row => ({ id: `r${i}`, timestamp: at(-i), message: `row ${i}` }),
    );
    rows[1] = { id: 'huge', timestamp: at(-1), message: 'x'.repeat(1_000_000) };
    const page = await open(async () => ({ rows, isTruncated: true }));
    await page.getByText('Cut at 30,000 rows: there are more').waitFor();
    const grid = page.getByRole('treegrid', { name: 'Rows' });
    expect(await grid.getByRole('row').count()).toBeLessThan(100);
    await grid.focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.getByText('(1000000 characters)').waitFor();
    await page.keyboard.press('End');
    await grid.getByText('row 29999').waitFor();
    // Megabytes of JavaScript objects after collecting garbage: the rows, and not what was drawn on the way.
    const session = await page.context().newCDPSession(page);
    await session.send('HeapProfiler.collectGarbage');
    const { usedSize } = await session.send('Runtime.getHeapUsage');
    expect(usedSize / 1e6).toBeLessThan(200);
    await page.getByRole('radio', { name: 'Chart' }).check();
    await page.locator('.plot canvas').waitFor();
    expect(opened.complaints).toEqual([]);
  });

  test('explains refusals and failures, and tries again', async () => {
    const cases = [
      ['too_many_requests', 'Too many requests.', 'Worth another try in'],
      ['engine_failed', 'engine_failed (502).', ''],
      ['unavailable', 'unavailable (503).', 'Worth another try in'],
    ] as const;
    const page = await open(async () => ({ rows: [{ id: 'a', timestamp: at(0), message: 'well' }] }));
    const well = page.getByRole('treegrid', { name: 'Rows' }).getByText('well');
    await well.waitFor();
    for (const [code, title, more] of cases) {
      answer = async () => {
        throw new GatewayError(code, `This is <b>${code}</b>`);
      };
      await page.getByRole('button', { name: 'Run' }).click();
      const alert = page.getByRole('alert');
      await alert.getByText(title).waitFor();
      expect(await alert.innerText()).toContain(more);
      expect(await alert.innerText()).toContain(`<b>${code}</b>`);
      answer = async () => ({ rows: [{ id: 'a', timestamp: at(0), message: 'well' }] });
      await alert.getByRole('button', { name: 'Try again' }).click();
      await well.waitFor();
      expect(await alert.count()).toBe(0);
    }
  });

  test('cancels a query, which the engine hears', async () => {
    const page = await open(
      (_, signal) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    );
    await page.getByText('Running…').waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'Run' }).waitFor();
    const failed = () => gateway.events.findLast(event => event.type === 'endpoint.failed');
    await expect.poll(() => failed()?.code).toBe('cancelled');
    expect(await page.getByText('Running…').count()).toBe(0);
  });

  test('says that nobody answers once the gateway is gone', async () => {
    const page = await open(async () => ({ rows: [{ id: 'a', timestamp: at(0), message: 'still here' }] }));
    await page.getByRole('treegrid', { name: 'Rows' }).getByText('still here').waitFor();
    await page.route('**/api/**', route => route.abort('connectionrefused'));
    await page.getByRole('button', { name: 'Run' }).click();
    await page.getByRole('alert').getByText('Nobody answers.').waitFor();
  });

  test('makes a form of the parameters, sends what was chosen, and keeps to the bounds', async () => {
    const page = await open(async () => ({ rows: [] }), '/#/form');
    await page.getByText('Still needed: area').waitFor();
    const run = page.getByRole('button', { name: 'Run' });
    expect(await run.isDisabled()).toBe(true);
    await page.getByLabel('size').fill('51');
    await page.getByLabel('names').pressSequentially('first\nsecond, with a comma');
    await page.getByLabel('day').fill('2026-01-14');
    await page.getByLabel('at: moving with the clock').selectOption('at (UTC)…');
    // A part that is cleared leaves the field, and what was chosen.
    await page.getByLabel('at: time in UTC').press('Backspace');
    expect(await page.getByLabel('at: moving with the clock').inputValue()).toBe('at');
    await page.getByLabel('at: time in UTC').fill('2026-01-14T09:30:00');
    // Without a choice, the default applies.
    expect(await page.getByRole('checkbox', { name: 'paid' }).isChecked()).toBe(true);
    await page.getByRole('checkbox', { name: 'open' }).check();
    await page.getByRole('checkbox', { name: 'paid' }).uncheck();
    await page.getByRole('checkbox', { name: 'sent' }).check();
    await page.getByRole('radio', { name: 'true' }).check();
    await page.getByRole('radio', { name: 'south' }).check();
    await page.getByRole('alert').getByText('size').waitFor();
    const sent: unknown[] = [];
    page.on('request', request => request.method() === 'POST' && sent.push(request.postDataJSON()));
    await run.click();
    expect(await page.evaluate('document.activeElement.name')).toBe('size');
    expect(sent).toEqual([]);

    await page.getByLabel('size').fill('50');
    await page.keyboard.press('Enter');
    await page.getByText('No rows.').waitFor();
    const values = {
      area: 'south',
      size: '50',
      states: ['open', 'sent'],
      names: ['first', 'second, with a comma'],
      day: '2026-01-14',
      at: '2026-01-14T09:30:00',
      isNew: 'true',
    };
    expect(sent).toEqual([values]);
    const shared = await openPage(pages.context, page.url(), { token: testToken });
    await shared.page.getByText('No rows.').waitFor();
    expect(await shared.page.getByLabel('names').inputValue()).toBe(values.names.join('\n'));
    expect(await shared.page.getByRole('checkbox', { name: 'sent' }).isChecked()).toBe(true);
    await shared.close();
    expect(await violationsOf(page)).toEqual([]);
    expect(opened.complaints).toEqual([]);
  });

  test('says of an answer where it came from, how old it is, and what it cost', async () => {
    const receipt = { bytesProcessed: 1_234_567, bytesBilled: 10_485_760 };
    const page = await open(async () => ({ rows: [], receipt }), '/#/form?area=north&size=7');
    const facts = page.locator('.facts');
    const expectFact = (text: string) => expect.poll(() => facts.innerText()).toContain(text);
    await facts.waitFor();
    await expectFact('fresh, now in the cache');
    await expectFact('1.2 MB read, 10.5 MB billed');
    gateway.clock.advance(12_000);
    await page.getByRole('button', { name: 'Run' }).click();
    await expectFact('from the cache, 12 s old');
    await page.getByRole('button', { name: 'Run again' }).click();
    await expectFact('fresh, now in the cache');
    gateway.clock.advance(60_000);
    await page.getByRole('button', { name: 'Run' }).click();
    await expectFact('from the cache, stale, 1 min old');
  });

  test('searches the saved queries where there are many', async () => {
    const page = await open(async () => ({ rows: [] }));
    const list = page.getByRole('navigation', { name: 'Saved queries' });
    await expect.poll(() => list.getByRole('button').count()).toBe(9);
    await page.getByLabel('Search the saved queries').fill('N3');
    expect(await list.getByRole('button').allInnerTexts()).toEqual([expect.stringContaining('other.n3')]);
  });
}
