import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { edgeRow } from '../support/edge-row.ts';
import { type OpenGateway, openGateway, testToken } from '../support/open-gateway.ts';
import { bringPages } from './built-pages.ts';
import { chromiumPath, launchChromium, openPage, violationsOf } from './open-browser.ts';

const now = '2026-01-15T12:00:30Z';

/** Requests of one project by minute and area; the last row has HTML in every text. */
const counts = [
  ['11:50', { rest: 3, auth: 1 }],
  ['11:51', { rest: 6, storage: 2, realtime: 1 }],
  ['11:53', { rest: 1 }],
  ['11:59', { storage: 4, auth: 2 }],
] as const;
const script = '<img src=x onerror="window.isHurt=1"><script>window.isHurt=1</script>';

function rows() {
  let id = 0;
  const requests = counts.flatMap(([minute, areas]) =>
    Object.entries(areas).flatMap(([area, count]) =>
      Array.from({ length: count }, () => {
        id++;
        const timestamp = `2026-01-15T${minute}:${String(id % 60).padStart(2, '0')}Z`;
        return edgeRow({ id: `row-${id}`, timestamp, project: 'abc', path: `/${area}/v1/x` });
      }),
    ),
  );
  const nasty = {
    ...edgeRow({ id: script, timestamp: '2026-01-15T11:59:59.5Z', project: 'abc', path: '/x' }),
  };
  return [...requests, { ...nasty, event_message: script }];
}

let gateway: OpenGateway;
let browser: Browser;

describe.skipIf(!chromiumPath)('the Explorer in Chromium', { timeout: 240_000 }, () => {
  beforeAll(async () => {
    await bringPages();
    gateway = await openGateway({
      now,
      rows: { 'cloudflare.logs.prod': rows() },
      pageSample: { token: testToken, parameters: { project: 'abc' } },
    });
    browser = await launchChromium();
  }, 240_000);
  afterAll(async () => {
    await browser?.close();
    await gateway?.close();
  });

  test('shows at the first visit a chart whose bars and numbers equal the API', async () => {
    const { page, complaints, close } = await openPage(browser, gateway.origin);
    await page.locator('.plot canvas').waitFor();
    const { body } = await gateway.get('/api/endpoints/query/usage.api-counts?interval=minutely&project=abc');
    expect(body.result).toHaveLength(counts.length);

    const plot = page.locator('.plot');
    await plot.focus();
    for (const row of body.result) {
      await page.keyboard.press('ArrowRight');
      expect(await page.locator('.legend-time').innerText()).toBe(
        `${row.timestamp.slice(0, 16).replace('T', ' ')} UTC`,
      );
      for (const [series, value] of Object.entries(row).slice(1)) {
        expect([series, await page.locator(`[data-series=${series}] output`).innerText()]).toEqual([
          series,
          String(value),
        ]);
      }
    }
    const drawn = await drawnPixels(
      page,
      body.result.map(({ timestamp }: { timestamp: string }) => Date.parse(`${timestamp}Z`) / 1000),
    );
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
    expect(await violationsOf(page)).toEqual([]);
    expect(page.url()).not.toContain(testToken);
    expect(complaints).toEqual([]);
    await close();
  });

  test('shows log rows as text, whatever they hold, and opens them', async () => {
    const { page, complaints, close } = await openPage(browser, `${gateway.origin}/#/logs.all?project=abc`, {
      colorScheme: 'dark',
    });
    const grid = page.getByRole('treegrid', { name: 'Rows' });
    await grid.getByText(script).first().waitFor();
    await grid.focus();
    await page.keyboard.press('Enter');
    await page.locator('.details .json-string', { hasText: '/x' }).first().waitFor();
    expect(await grid.getAttribute('aria-rowcount')).toBe(String(rows().length + 1));
    expect(await violationsOf(page)).toEqual([]);
    expect(await page.evaluate('window.isHurt')).toBeUndefined();
    expect(complaints).toEqual([]);
    await close();
  });

  test('underlines what is wrong in SQL at its place, and completes columns', async () => {
    const { page, complaints, close } = await openPage(browser, `${gateway.origin}/#/logs.all?project=abc`);
    await page.getByText('Your own SQL over its 9 subsets').click();
    const editor = page.locator('.cm-content');
    await editor.click();
    await page.keyboard.type('select evnt_message from edge_logs');
    expect(await page.locator('.cm-lintRange-error').innerText()).toBe('evnt_message');
    expect(await violationsOf(page)).toEqual([]);

    await page.keyboard.press('Control+A');
    await page.keyboard.type('select event_message, count(*) as n from edge_logs group by event_m');
    // By the mouse: for a moment after the list has opened, Enter begins a new line still.
    await page.locator('.cm-tooltip-autocomplete li', { hasText: 'event_message' }).first().click();
    await page.keyboard.press('Control+Enter');
    const found = page.getByRole('treegrid', { name: 'Rows' });
    await page.getByRole('radio', { name: 'Table' }).check();
    await found.getByRole('columnheader', { name: 'n', exact: true }).waitFor();
    await expect.poll(() => page.locator('.cm-lintRange-error').count()).toBe(0);
    // Where a selection is typed over, Chromium itself would keep its style on the new text; the policy forbids that, rightly.
    expect(complaints.filter(text => !text.startsWith('Applying inline style'))).toEqual([]);
    await close();
  });

  test('shares a view by its address, without the token', async () => {
    const first = await openPage(
      browser,
      `${gateway.origin}/#/usage.api-counts?project=abc&interval=minutely`,
    );
    await first.page.getByRole('radio', { name: 'hourly' }).check();
    await first.page.getByRole('radio', { name: 'Table' }).check();
    await first.page.getByRole('columnheader', { name: 'total_rest_requests' }).waitFor();
    const address = first.page.url();
    expect(address).toContain('interval=hourly');
    expect(address).not.toContain(testToken);
    await first.close();

    // Another machine's browser: it has no token yet.
    const second = await openPage(browser, address.replace('127.0.0.1', 'localhost'), {
      extraHTTPHeaders: { 'x-forwarded-for': '203.0.113.9' },
    });
    await second.page.getByLabel('Token', { exact: true }).fill('not a token');
    await second.page.getByRole('button', { name: 'Use it' }).click();
    await second.page.getByRole('dialog').getByRole('alert').waitFor();
    expect(await violationsOf(second.page)).toEqual([]);
    await second.page.getByLabel('Token', { exact: true }).fill(testToken);
    await second.page.getByRole('button', { name: 'Use it' }).click();
    await second.page.getByRole('columnheader', { name: 'total_rest_requests' }).waitFor();
    expect(await second.page.getByRole('radio', { name: 'hourly' }).isChecked()).toBe(true);
    expect(second.complaints).toEqual([]);
    await second.close();
  });

  test('fits a phone', async () => {
    const { page, complaints, close } = await openPage(browser, gateway.origin, {
      viewport: { width: 360, height: 740 },
    });
    await page.locator('.plot canvas').waitFor();
    for (const endpoint of ['logs.all', 'usage.api-counts']) {
      await page.getByRole('button', { name: endpoint }).click();
      await page.locator('.result').waitFor();
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360);
    }
    expect(await violationsOf(page)).toEqual([]);
    expect(complaints).toEqual([]);
    await close();
  });

  test('GraphiQL runs a shared operation, and again after a reload', async () => {
    const query = '{ usageApiCounts(project: "abc", interval: DAILY) { totalRestRequests } }';
    const { page, complaints, close } = await openPage(
      browser,
      `${gateway.origin}/graphql?query=${encodeURIComponent(query)}`,
    );
    for (const _ of ['first', 'after a reload']) {
      await page.getByRole('button', { name: /Execute query/ }).click();
      await page.locator('.graphiql-response', { hasText: '"totalRestRequests": 10' }).waitFor();
      await page.reload();
    }
    expect(page.url()).not.toContain(testToken);
    expect(complaints.filter(text => /Content Security Policy|Refused/.test(text))).toEqual([]);
    await close();
  });

  test('the page of the API tries an endpoint', async () => {
    const { page, complaints, close } = await openPage(browser, `${gateway.origin}/docs`);
    await page.getByText('/api/endpoints/query/usage.api-counts').first().click();
    const block = page.locator('.opblock.is-open').first();
    await block.locator('tr[data-param-name=project] input').fill('abc');
    await block.locator('tr[data-param-name=interval] select').selectOption('daily');
    await block.getByRole('button', { name: 'Execute' }).click();
    await block.locator('.live-responses-table', { hasText: '"total_rest_requests": 10' }).waitFor();
    expect(complaints).toEqual([]);
    await close();
  });
});

/** For each bar, the pixels of each colour in the column of its middle. */
async function drawnPixels(page: Page, seconds: readonly number[]): Promise<Record<string, number>[]> {
  await page.mouse.move(0, 0);
  return page.evaluate(`(() => {
    const seconds = ${JSON.stringify(seconds)};
    const canvas = document.querySelector('.plot canvas');
    const over = document.querySelector('.plot .u-over').getBoundingClientRect();
    const box = canvas.getBoundingClientRect();
    const scale = canvas.width / box.width;
    const style = getComputedStyle(document.documentElement);
    const colours = [1, 2, 3, 4].map(n => 'series-' + n).map(name => [name, style.getPropertyValue('--' + name).trim()]);
    const rgb = colour => [1, 3, 5].map(at => parseInt(colour.slice(at, at + 2), 16)).join();
    const names = new Map(colours.map(([name, colour]) => [rgb(colour), name]));
    const step = 60, from = seconds[0] - step / 2, to = seconds.at(-1) + step / 2;
    return seconds.map(at => {
      const x = Math.round((over.left - box.left + ((at - from) / (to - from)) * over.width) * scale);
      const data = canvas.getContext('2d').getImageData(x, 0, 1, canvas.height).data;
      const found = {};
      for (let i = 0; i < data.length; i += 4) {
        const name = names.get([data[i], data[i + 1], data[i + 2]].join());
        if (name) found[name] = (found[name] ?? 0) + 1;
      }
      return found;
    });
  })()`);
}
