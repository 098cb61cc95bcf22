import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { edgeRow } from '../support/edge-row.ts';
import { type OpenGateway, openGateway, testToken } from '../support/open-gateway.ts';
import { bringPages } from './built-pages.ts';
import { chromiumPath, launchChromium, openPage, violationsInEveryLook } from './open-browser.ts';

let gateway: OpenGateway;
let browser: Browser;

describe.skipIf(!chromiumPath)('GraphiQL and the page of the API', { timeout: 240_000 }, () => {
  beforeAll(async () => {
    await bringPages();
    const row = edgeRow({ id: 'a', timestamp: '2026-01-15T11:59:00Z', project: 'abc' });
    gateway = await openGateway({
      now: '2026-01-15T12:00:30Z',
      rows: { 'cloudflare.logs.prod': [row] },
      pageSample: { token: testToken, parameters: { project: 'abc' } },
    });
    browser = await launchChromium();
  }, 240_000);
  afterAll(async () => {
    await browser?.close();
    await gateway?.close();
  });

  test('GraphiQL asks for a token, has an operation for each saved query, and loads its library once', async () => {
    const { page, complaints, close } = await openPage(browser, `${gateway.origin}/graphql`, {
      extraHTTPHeaders: { 'x-forwarded-for': '203.0.113.9' },
    });
    const bar = page.locator('#token-bar');
    await expect.poll(() => bar.getAttribute('data-given')).toBe('false');
    await page.getByLabel('Token').fill(testToken);
    await page.getByRole('button', { name: 'Use it' }).click();
    await expect.poll(() => bar.getAttribute('data-given')).toBe('true');
    for (const name of ['LogsAll', 'UsageApiCounts'])
      await page.getByRole('button', { name, exact: true }).waitFor();
    await page.locator('.view-line', { hasText: 'eventMessage' }).waitFor();
    // The page was loaded a second time, with the token: nothing of the library travelled again.
    const travelled = await page.evaluate<number[]>(
      `performance.getEntriesByType('resource').filter(({ name }) => name.includes('library')).map(({ transferSize }) => transferSize)`,
    );
    expect(travelled).toEqual([0, 0]);
    expect(
      await page.evaluate('JSON.stringify([localStorage, document.cookie, location.href])'),
    ).not.toContain(testToken);
    // Its editor takes the theme that there is when it is loaded.
    const settle = async () => {
      await page.reload();
      await page.locator('.view-line').first().waitFor();
      await page.getByRole('button', { name: 'LogsAll', exact: true }).waitFor();
    };
    expect(await violationsInEveryLook(page, settle)).toEqual([]);
    expect(complaints.filter(text => /Content Security Policy|Refused/.test(text))).toEqual([]);
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
      await page.locator('.graphiql-response', { hasText: '"totalRestRequests": 1' }).waitFor();
      await page.reload();
    }
    // What is typed can be shared.
    await page.locator('.graphiql-query-editor .view-line').first().click();
    await page.keyboard.press('Control+End');
    await page.keyboard.type('# and more');
    await expect.poll(() => new URL(page.url()).searchParams.get('query')).toContain('# and more');
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
    await block.locator('.live-responses-table', { hasText: '"total_rest_requests": 1' }).waitFor();
    expect(await violationsInEveryLook(page)).toEqual([]);
    expect(complaints).toEqual([]);
    await close();
  });
});
