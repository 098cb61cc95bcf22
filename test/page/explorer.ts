import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { format, promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { edgeRow } from '../support/edge-row.ts';
import { testToken } from '../support/open-gateway.ts';
import { everyLook, openPage, violationsIn, violationsOf } from './open-browser.ts';
import { counts, type Pages, rows, script } from './pages.ts';

const countsView = '/#/usage.api-counts?project=abc&interval=minutely';
const logsView = '/#/logs.all?project=abc';

const secondsOf = (minute: string) => Date.parse(`2026-01-15T${minute}:00Z`) / 1000;

/** The Explorer over a gateway with rows. */
export function testExplorer(pages: Pages): void {
  /** Opens a view with the token of the tests. */
  const open = (view: string, options = {}) =>
    openPage(pages.context, pages.gateway.origin + view, { token: testToken, ...options });

  test('shows at the first visit a chart whose bars and numbers equal the API', async () => {
    const { page, complaints, close } = await openPage(pages.context, pages.gateway.origin);
    await page.locator('.plot canvas').waitFor();
    const { body } = await pages.gateway.get(
      '/api/endpoints/query/usage.api-counts?interval=minutely&project=abc',
    );
    expect(body.result).toHaveLength(counts.length);

    const names = await page.locator('.legend-item').allInnerTexts();
    expect(names.map(name => name.split(/\s/)[0])).toEqual(['rest', 'storage', 'auth', 'realtime']);
    const plot = page.locator('.plot');
    const times = body.result.map(
      ({ timestamp }: { timestamp: string }) => Date.parse(`${timestamp}Z`) / 1000,
    );
    // By the keyboard and under the pointer.
    await plot.focus();
    for (const show of [
      async () => page.keyboard.press('ArrowRight'),
      async (at: number) => hover(page, times[at], [times[0], times.at(-1)]),
    ]) {
      for (const [at, row] of body.result.entries()) {
        await show(at);
        await page
          .getByText(`${row.timestamp.slice(0, 16).replace('T', ' ')} UTC`, { exact: true })
          .waitFor();
        const { timestamp: _, ...numbers } = row;
        expect(await legendOf(page)).toEqual(numbers);
        const { x } = await placeOf(page, times[at], [times[0], times.at(-1)]);
        const line = (await page.locator('.u-cursor-x').boundingBox())!.x;
        expect(Math.abs(line - x)).toBeLessThan(3);
      }
    }
    const drawn = await drawnPixels(page, times, [times[0], times.at(-1)]);
    // One request is as many pixels everywhere.
    const unit = drawn[1]!['series-1']! / 6;
    expect(unit).toBeGreaterThan(5);
    const series = ['rest', 'storage', 'auth', 'realtime'];
    body.result.forEach((row: Record<string, number>, at: number) => {
      series.forEach((area, index) => {
        const pixels = drawn[at]![`series-${index + 1}`] ?? 0;
        const expected = row[`total_${area}_requests`]! * unit;
        expect(
          Math.abs(pixels - expected),
          `${area} at ${row.timestamp}: ${pixels} of ${expected}`,
        ).toBeLessThan(4);
      });
    });
    expect(await page.title()).toBe('usage.api-counts: saved queries');
    expect(await page.getByRole('status').allTextContents()).toContain(`Rows found: ${counts.length}`);
    expect(page.url()).not.toContain(testToken);
    expect(complaints).toEqual([]);
    await close();
  });

  test('asks at the first visit for everything that it can ask for at once', async () => {
    const context = await pages.browser.newContext();
    const page = await context.newPage();
    // Each round begins only after the one before it was answered.
    const rounds = [
      ['/'],
      ['explorer.js', 'explorer-style.css', 'time-chart.js', '/api/sample'],
      // The root says whether GraphiQL is served.
      ['/', '/api/endpoints'],
      ['/api/endpoints/query/usage.api-counts'],
    ];
    const held = new Map<string, () => Promise<void>>();
    const scripts: string[] = [];
    await page.route('**/*', route => {
      const path = new URL(route.request().url()).pathname;
      if (path.endsWith('.js')) scripts.push(path);
      const name = path.replace(/^\/assets\/(.*)-\w{8}\./, '$1.');
      if (!rounds.flat().includes(name)) return route.continue();
      held.set(name, () => route.continue());
    });
    const visit = page.goto(pages.gateway.origin, { waitUntil: 'commit' });
    for (const round of rounds) {
      await expect.poll(() => [...held.keys()].sort()).toEqual([...round].sort());
      const answers = [...held.values()];
      held.clear();
      await Promise.all(answers.map(answer => answer()));
    }
    await visit;
    await page.locator('.plot canvas').waitFor();
    const html = await (await fetch(pages.gateway.origin, { headers: { accept: 'text/html' } })).text();
    expect(scripts.filter(path => !html.includes(path))).toEqual([]);
    await context.close();
  });

  test('zooms by dragging and by keys, hides series, and shares what is shown', async () => {
    const { page, complaints, close } = await open(countsView);
    await page.locator('.plot canvas').waitFor();
    const whole = [secondsOf('11:50'), secondsOf('11:59')];
    const all = { rest: 10, storage: 6, auth: 3, realtime: 1 };
    const expectSums = (sums: Partial<typeof all>, of = page) => {
      const named = Object.entries(sums).map(([area, sum]) => [`total_${area}_requests`, sum]);
      return expect.poll(() => legendOf(of)).toMatchObject(Object.fromEntries(named));
    };
    await drag(page, [secondsOf('11:51') - 20, secondsOf('11:53') + 20], whole);
    await page.mouse.move(0, 0);
    await expectSums({ rest: 7, storage: 2, auth: 0 });
    expect(page.url()).toContain('~from=2026-01-15T11%3A51%3A00.000Z&~to=2026-01-15T11%3A54%3A00.000Z');

    const other = await open(new URL(page.url()).hash.replace('#', '/#'));
    await expectSums({ rest: 7, storage: 2, auth: 0 }, other.page);
    const times = [secondsOf('11:51'), secondsOf('11:53')];
    const [bar] = await drawnPixels(other.page, times, times);
    expect(bar!['series-1']! / bar!['series-2']!).toBeCloseTo(3, 0);
    await other.close();

    await page.locator('[data-series=total_rest_requests]').click();
    await expect.poll(async () => (await drawnPixels(page, times, times))[0]!['series-1']).toBeUndefined();
    await page.locator('.plot .u-over').dblclick();
    await page.mouse.move(0, 0);
    await expectSums(all);
    expect(page.url()).not.toContain('~from');
    await page.locator('.plot').press('+');
    await expect.poll(() => page.url()).toContain('~from');
    await page.locator('.plot').press('0');
    await expectSums(all);
    await page.getByRole('button', { name: 'Zoom in' }).click();
    await page.getByRole('button', { name: 'All of it' }).click();
    await expectSums(all);
    expect(complaints).toEqual([]);
    await close();
  });

  test('shows log rows as text, whatever they hold, by level, opens, copies, orders and filters them', async () => {
    const { page, complaints, close } = await open(logsView);
    const { body } = await pages.gateway.get('/api/endpoints/query/logs.all?project=abc');
    const grid = page.getByRole('treegrid', { name: 'Rows' });
    await grid.getByText(script).first().waitFor();
    expect(await grid.getAttribute('aria-rowcount')).toBe(String(rows().length + 1));
    const colour = (css: string) =>
      page.evaluate<string>(`(() => {
        const found = document.querySelector(${JSON.stringify(css)});
        return getComputedStyle(found)[found.matches('.swatch') ? 'backgroundColor' : 'borderLeftColor'];
      })()`);
    expect(await grid.locator('.row.error .level').innerText()).toBe('error 503');
    expect(await colour('.row.error')).toBe(await colour('.swatch[style*="--level-error"]'));
    expect(await colour('.row.info')).toBe(await colour('.swatch[style*="--level-info"]'));

    await grid.focus();
    await page.keyboard.press('Enter');
    await page.locator('.details .json-string', { hasText: '/x' }).first().waitFor();
    await page.getByRole('button', { name: 'Copy row' }).click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    expect(JSON.parse(await page.evaluate('navigator.clipboard.readText()'))).toEqual(body.result[0]);
    await page.keyboard.press('Escape');
    await grid.focus();
    await page.keyboard.press('Enter');

    await page.getByRole('button', { name: 'event_message' }).click();
    await expect.poll(() => grid.locator('.row').nth(1).innerText()).toContain('<img');
    await page.getByLabel('Filter these rows').fill('/STORAGE/v1');
    await page.getByText('6 of 21 rows').waitFor();
    expect(await grid.getAttribute('aria-rowcount')).toBe('7');
    expect(await legendOf(page)).toEqual({ info: 6 });
    expect(page.url()).toContain('~filter=');
    await page.getByLabel('Filter these rows').fill('');

    // The bars above the rows choose them, and the rows of a part can be asked for.
    await grid.locator('.row').nth(20).waitFor();
    const placeOfPlot = async () => (await page.locator('.plot').boundingBox())!.y;
    const before = await placeOfPlot();
    const bars = await page.locator('.plot .u-over').boundingBox();
    await page.mouse.move(bars!.x + bars!.width * 0.6, bars!.y + 10);
    await page.mouse.down();
    await page.mouse.move(bars!.x + bars!.width - 2, bars!.y + 10, { steps: 3 });
    await page.mouse.up();
    await page.getByText('7 of 21 rows').waitFor();
    expect(await placeOfPlot()).toBe(before);
    const asked = page.waitForRequest(request => request.method() === 'POST');
    await page.getByRole('button', { name: 'Ask for this range' }).click();
    const { iso_timestamp_start, iso_timestamp_end } = (await asked).postDataJSON();
    const range = new URLSearchParams({ project: 'abc', iso_timestamp_start, iso_timestamp_end });
    const part = await pages.gateway.get(`/api/endpoints/query/logs.all?${range}`);
    expect(part.body.result).toHaveLength(7);
    await expect.poll(() => grid.getAttribute('aria-rowcount')).toBe('8');
    expect(await page.getByLabel('iso_timestamp_start: time in UTC').inputValue()).toContain(
      '2026-01-15T11:5',
    );

    expect(await page.evaluate('window.isHurt')).toBeUndefined();
    expect(complaints).toEqual([]);
    await close();
  });

  test('shows new rows as they come, and no more once it is paused', async () => {
    const { page, complaints, close } = await open('/#/logs.all?project=live');
    const send = (id: string) =>
      pages.gateway.send('/api/sources/cloudflare.logs.prod/rows', {
        method: 'POST',
        body: JSON.stringify(
          edgeRow({ id, timestamp: `2026-01-15T12:00:0${id}Z`, project: 'live', path: `/${id}` }),
        ),
      });
    await page.getByText('No rows.').waitFor();
    await page.clock.install();
    await page.getByRole('button', { name: 'Live' }).click();
    const grid = page.getByRole('treegrid', { name: 'Rows' });
    const arrived = async () => {
      await page.clock.fastForward(2000);
      return (await grid.count()) === 0 ? 0 : Number(await grid.getAttribute('aria-rowcount')) - 1;
    };
    for (const id of ['1', '2']) {
      expect((await send(id)).status).toBe(200);
      await expect.poll(arrived).toBe(Number(id));
    }
    await page.getByRole('button', { name: 'Pause live' }).click();
    const sent: string[] = [];
    page.on('request', request => sent.push(request.url()));
    expect((await send('3')).status).toBe(200);
    expect(await arrived()).toBe(2);
    expect(sent).toEqual([]);
    // Without a value that it needs, it is over.
    const live = page.getByRole('button', { name: 'Live', exact: true });
    await live.click();
    await page.getByLabel('project').fill('');
    await expect.poll(() => live.isDisabled()).toBe(true);
    expect(complaints).toEqual([]);
    await close();
  });

  test('highlights SQL, underlines what is wrong at its place, and completes', async () => {
    const { page, complaints, close } = await open(logsView);
    await page.getByRole('button', { name: 'Your own SQL' }).click();
    const editor = page.locator('.cm-content');
    await editor.click();
    await page.keyboard.insertText('select evnt_message from edge_logs');
    expect(await page.locator('.cm-lintRange-error').innerText()).toBe('evnt_message');
    // The editor stands in a shadow root.
    const colourOf = (css: string) =>
      page.evaluate<string>(
        `getComputedStyle(document.querySelector('.editor').shadowRoot.querySelector('${css}')).color`,
      );
    expect(await page.locator('.cm-line span').first().innerText()).toBe('select');
    expect(await colourOf('.cm-line span')).not.toBe(await colourOf('.cm-content'));

    for (const [text, option] of [
      ['select * from postg', 'postgres_logs'],
      ['select event_m', 'event_message'],
      ['select timestamp_tru', 'TIMESTAMP_TRUNC'],
      ['select r.pa', 'path'],
    ] as const) {
      await page.keyboard.press('Control+A');
      await page.keyboard.insertText(text.slice(0, -2));
      await page.keyboard.type(text.slice(-2));
      await page.locator('.cm-tooltip-autocomplete li', { hasText: option }).first().waitFor();
      // Running the text closes the list too.
      await page.keyboard.press(option === 'path' ? 'Control+Enter' : 'Escape');
      await expect.poll(() => page.locator('.cm-tooltip-autocomplete').count()).toBe(0);
    }
    await page.keyboard.press('Control+A');
    await page.keyboard.insertText('select event_message, count(*) as n from edge_logs group by even');
    await page.keyboard.type('t_m');
    // By the mouse: for a moment after the list has opened, Enter begins a new line still.
    await page.locator('.cm-tooltip-autocomplete li', { hasText: 'event_message' }).first().click();
    await page.keyboard.press('Control+Enter');
    const found = page.getByRole('treegrid', { name: 'Rows' });
    await page.getByRole('radio', { name: 'Table' }).check();
    await found.getByRole('columnheader', { name: 'n', exact: true }).waitFor();
    await expect.poll(() => page.locator('.cm-lintRange-error').count()).toBe(0);

    // The keyboard finds the way out of the editor.
    await editor.click();
    await page.keyboard.press('Escape');
    await page.keyboard.press('Tab');
    expect(await page.evaluate("document.activeElement.classList.contains('editor')")).toBe(false);

    // Examples of a subset run; a name and a number are a bar for each name.
    await page.getByRole('button', { name: 'Rows by path' }).click();
    await page.getByRole('radio', { name: 'Chart' }).check();
    // The answer of before has five names too.
    await page.locator('.name-chart caption', { hasText: 'total' }).waitFor();
    const bars = page.locator('.name-chart tr');
    await expect.poll(() => bars.count()).toBe(5);
    expect(await bars.first().innerText()).toMatch(/\/rest\/v1\/x\s+10/);
    const widthOf = async (at: number) => (await bars.nth(at).locator('.bar').boundingBox())!.width;
    expect((await widthOf(1)) / (await widthOf(0))).toBeCloseTo(0.6, 1);
    // Where a selection is typed over, Chromium itself would keep its style on the new text; the policy forbids that, rightly.
    expect(complaints.filter(text => !text.startsWith('Applying inline style'))).toEqual([]);
    await close();
  });

  test('cuts a million rows of the editor, says so, and stays small', async () => {
    const sql = `select a.id, a.event_message, n from edge_logs a cross join unnest(generate_array(1, 50000)) as n`;
    const { page, complaints, close } = await open(
      `/#/logs.all?${new URLSearchParams({ project: 'abc', sql })}`,
    );
    await page.getByText('Cut at 1,000 rows: there are more').waitFor();
    const grid = page.getByRole('treegrid', { name: 'Rows' });
    expect(await grid.getAttribute('aria-rowcount')).toBe('1001');
    await grid.focus();
    for (const key of ['End', 'Enter', 'Home', 'Enter']) await page.keyboard.press(key);
    await page.locator('.cm-content').waitFor();
    // All of the memory that no other process has, of the largest tab of this browser.
    const session = await pages.browser.newBrowserCDPSession();
    const { processInfo } = await session.send('SystemInfo.getProcessInfo');
    const tabs = processInfo.filter(({ type }) => type === 'renderer');
    expect(tabs.length).toBeGreaterThan(0);
    for (const { id } of tabs) {
      const status = await readFile(`/proc/${id}/status`, 'utf8');
      expect(Number(/RssAnon:\s+(\d+) kB/.exec(status)?.[1]) / 1000).toBeLessThan(200);
    }
    expect(complaints).toEqual([]);
    await close();
  });

  test('exports what other programs can run: the same rows', async () => {
    const { page, close } = await open(countsView);
    await page.locator('.plot canvas').waitFor();
    await page.getByRole('button', { name: 'Export' }).click();
    const textOf = async (name: string) => {
      await page.getByRole('radio', { name }).check();
      return page.locator('.take-along pre').innerText();
    };
    const path = '/api/endpoints/query/usage.api-counts?interval=minutely&project=abc';
    const { body } = await pages.gateway.get(path);
    const run = promisify(execFile);
    const env = { ...process.env, TOKEN: testToken };
    const curl = await run('sh', ['-c', `${await textOf('curl')} -s`], { env });
    expect(JSON.parse(curl.stdout)).toEqual(body);
    const typescript = ['--input-type=module-typescript', '-e', await textOf('TypeScript')];
    const printed = await run(process.execPath, typescript, { env: { ...env, NO_COLOR: '1' } });
    expect(printed.stdout).toBe(`${format(body.result)}\n`);
    const { body: graph } = await pages.gateway.graphql(await textOf('GraphQL'));
    expect(graph.data.usageApiCounts.map((row: object) => Object.values(row).slice(1))).toEqual(
      body.result.map((row: object) => Object.values(row).slice(1)),
    );
    const downloading = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download CSV' }).click();
    const download = await downloading;
    expect(download.suggestedFilename()).toBe('usage.api-counts.csv');
    const csv = await fetch(`${pages.gateway.origin}${path}&format=csv`, {
      headers: { 'x-api-key': testToken },
    });
    expect(await readFile(await download.path(), 'utf8')).toBe(await csv.text());
    await close();
  });

  test('shares a view by its address, without the token, which each tab asks for once', async () => {
    const first = await open(countsView);
    await first.page.getByRole('radio', { name: 'hourly' }).check();
    await first.page.getByRole('radio', { name: 'Table' }).check();
    await first.page.getByRole('columnheader', { name: 'total_rest_requests' }).waitFor();
    // All columns are in view.
    const beyond = `document.querySelector('.rows').scrollWidth - document.querySelector('.rows').clientWidth`;
    expect(await first.page.evaluate(beyond)).toBe(0);
    const address = first.page.url();
    expect(address).toContain('interval=hourly');
    expect(address).not.toContain(testToken);
    await first.close();

    // Another machine's browser: it has no token yet.
    const { page, complaints, close } = await openPage(pages.context, address, {
      headers: { 'x-forwarded-for': '203.0.113.9' },
    });
    await page.getByLabel('Token', { exact: true }).fill('“sqg_0”');
    expect(await page.evaluate(`document.querySelector('#token-field').validity.patternMismatch`)).toBe(true);
    await page.getByLabel('Token', { exact: true }).fill('not a token');
    await page.getByRole('button', { name: 'Use it' }).click();
    await page.getByRole('dialog').getByRole('alert').waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await page.getByLabel('Token', { exact: true }).fill(testToken);
    await page.getByRole('button', { name: 'Use it' }).click();
    const column = page.getByRole('columnheader', { name: 'total_rest_requests' });
    await column.waitFor();
    expect(await page.getByRole('radio', { name: 'hourly' }).isChecked()).toBe(true);

    await page.reload();
    await column.waitFor();
    expect(await page.getByRole('dialog').count()).toBe(0);
    const kept = 'JSON.stringify([localStorage, document.cookie, location.href])';
    expect(await page.evaluate(kept)).not.toContain(testToken);
    const tab = await openPage(pages.context, address, { headers: { 'x-forwarded-for': '203.0.113.9' } });
    await tab.page.getByRole('dialog').waitFor();
    await tab.close();
    expect(complaints).toEqual([]);
    await close();
  });

  test('says that its editor did not load, as after an update of the gateway', async () => {
    const { page, close } = await open(logsView);
    await page.route(/\/assets\/sql-editor/, route => route.abort());
    await page.getByRole('button', { name: 'Your own SQL' }).click();
    await page.getByRole('alert').getByText('The editor did not load').waitFor();
    await close();
  });

  test('works in a browser that keeps nothing', async () => {
    const page = await pages.context.newPage();
    // As Chromium does with all cookies blocked.
    await page.addInitScript(`for (const name of ['localStorage', 'sessionStorage'])
      Object.defineProperty(window, name, { get() { throw new DOMException('Access is denied', 'SecurityError'); } })`);
    await page.goto(pages.gateway.origin);
    await page.locator('.plot canvas').waitFor({ timeout: 60_000 });
    const light = await page.evaluate('getComputedStyle(document.body).backgroundColor');
    for (const theme of ['auto', 'light'])
      await page.getByRole('button', { name: `Theme: ${theme}` }).click();
    expect(await page.evaluate('getComputedStyle(document.body).backgroundColor')).not.toBe(light);
    await page.close();
  });

  test('survives nonsense in the address, and follows it', async () => {
    const { page, complaints, close } = await open('/#/%E0%A4%A');
    await page.locator('.plot canvas').waitFor();
    const go = (view: string) => page.evaluate(`location.hash = ${JSON.stringify(view)}`);
    await go('#/nothing.here?project=abc');
    await page.getByText('No saved query of yours is named nothing.here').waitFor();
    await go('#/usage.api-counts?project=abc&interval=yearly&~show=film');
    await page.getByRole('alert').getByText('interval').waitFor();
    await go(
      '#/logs.all?project=abc&project=xyz&__proto__=1&~from=never&~to=2026-01-15&~filter=%00&iso_timestamp_start=soon',
    );
    await page
      .getByRole('alert')
      .getByText(/project|iso_timestamp_start/)
      .waitFor();
    // The same saved query with other values is asked for anew.
    await go(`${countsView.slice(1)}&~show=table`);
    await page.getByText('4 rows').waitFor();
    await go(`${countsView.slice(1).replace('abc', 'nobody')}&~show=table`);
    await page.getByText('No rows.').waitFor();
    await page.goBack();
    await page.getByText('4 rows').waitFor();
    expect(complaints).toEqual([]);
    await close();
  });

  test('fits a phone, in two lines a row, and keeps the chosen theme', async () => {
    const { page, complaints, close } = await openPage(
      // The theme is kept for all tabs.
      await pages.browser.newContext(),
      pages.gateway.origin,
      { token: testToken, viewport: { width: 360, height: 740 } },
    );
    await page.locator('.plot canvas').waitFor();
    // What was asked for begins on the first screen.
    expect((await page.locator('.plot').boundingBox())!.y).toBeLessThan(740);
    for (const endpoint of ['logs.all', 'usage.api-counts']) {
      await page.getByRole('button', { name: endpoint }).click();
      await page.locator('.result').waitFor();
      // iOS zooms in on a field with smaller text.
      expect(await page.getByLabel('project').evaluate(field => getComputedStyle(field).fontSize)).toBe(
        '16px',
      );
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360);
    }
    await page.getByRole('radio', { name: 'Table' }).check();
    const heads = page.getByRole('columnheader');
    await expect
      .poll(() => heads.allInnerTexts())
      .toEqual(['timestamp', 'rest', 'storage', 'auth', 'realtime']);
    await page.getByRole('button', { name: 'logs.all' }).click();
    await page.locator('.narrow .row').nth(2).waitFor();
    const [when, , message] = await page.locator('.row').nth(2).locator('span').all();
    expect((await message!.boundingBox())!.y).toBeGreaterThan((await when!.boundingBox())!.y + 10);

    const ground = () => page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
    const light = await ground();
    await page.getByRole('button', { name: 'Theme: auto' }).click();
    await page.getByRole('button', { name: 'Theme: light' }).click();
    const dark = await ground();
    expect(dark).not.toBe(light);
    await page.reload();
    await page.locator('.plot canvas').waitFor();
    expect(await ground()).toBe(dark);
    expect(complaints).toEqual([]);
    await close();
  });

  test('is accessible in both themes, on a desktop and on a phone, whatever is open', async () => {
    const { page, close } = await open(`${countsView}&~show=both&sql=select+nothing+from+edge_logs`);
    await page.locator('.cm-lintRange-error').waitFor();
    await page.getByRole('button', { name: 'Export' }).click();
    expect(await violationsIn(page, everyLook)).toEqual([]);
    await page.evaluate(`location.hash = '#/logs.all?project=abc&iso_timestamp_start=2026-01-15T11:00:00Z'`);
    const grid = page.getByRole('treegrid', { name: 'Rows' });
    await grid.focus();
    await page.keyboard.press('Enter');
    await page.locator('.details').waitFor();
    await page.locator('.plot canvas').waitFor();
    expect(await violationsIn(page, everyLook)).toEqual([]);
    await close();
  });
}

/** The numbers of the legend by the name of their series. */
async function legendOf(page: Page): Promise<Record<string, number>> {
  return page.evaluate(`Object.fromEntries([...document.querySelectorAll('.legend-item')].map(item =>
    [item.dataset.series, Number(item.querySelector('output').textContent)]))`);
}

/** Where a bar stands in the window; minutes are the bars of these tests. */
async function placeOf(page: Page, seconds: number, [first, last]: readonly number[]) {
  const box = (await page.locator('.plot .u-over').boundingBox())!;
  const share = (seconds - first! + 30) / (last! - first! + 60);
  return { x: box.x + share * box.width, y: box.y + box.height / 2 };
}

async function hover(page: Page, seconds: number, shown: readonly number[]): Promise<void> {
  const { x, y } = await placeOf(page, seconds, shown);
  await page.mouse.move(x, y);
}

async function drag(
  page: Page,
  [from, to]: readonly [number, number],
  shown: readonly number[],
): Promise<void> {
  await hover(page, from, shown);
  await page.mouse.down();
  await hover(page, (from + to) / 2, shown);
  await hover(page, to, shown);
  await page.mouse.up();
}

/** For each bar, the pixels of each colour in the column of its middle. */
async function drawnPixels(
  page: Page,
  seconds: readonly number[],
  shown: readonly number[],
): Promise<Record<string, number>[]> {
  await page.locator('.plot canvas').waitFor();
  await page.mouse.move(0, 0);
  const places = await Promise.all(seconds.map(async at => (await placeOf(page, at, shown)).x));
  return page.evaluate(`(() => {
    const canvas = document.querySelector('.plot canvas');
    const box = canvas.getBoundingClientRect();
    const scale = canvas.width / box.width;
    const names = new Map([...document.querySelectorAll('.swatch')].map(swatch =>
      [getComputedStyle(swatch).backgroundColor.match(/\\d+/g).join(), swatch.style.background.match(/--([\\w-]+)/)[1]]));
    return ${JSON.stringify(places)}.map(x => {
      const data = canvas.getContext('2d').getImageData(Math.round((x - box.left) * scale), 0, 1, canvas.height).data;
      const found = {};
      for (let i = 0; i < data.length; i += 4) {
        const name = names.get([data[i], data[i + 1], data[i + 2]].join());
        if (name) found[name] = (found[name] ?? 0) + 1;
      }
      return found;
    });
  })()`);
}
