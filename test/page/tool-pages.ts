import { expect, test } from 'vitest';
import { testToken } from '../support/open-gateway.ts';
import { openPage, twoLooks, violationsIn } from './open-browser.ts';
import type { Pages } from './pages.ts';

/** GraphiQL, and the page of the API. */
export function testToolPages(pages: Pages): void {
  test('GraphiQL asks for a token, has an operation for each saved query, and loads its library once', async () => {
    const { page, complaints, close } = await openPage(
      await pages.browser.newContext(),
      `${pages.gateway.origin}/graphql`,
      {
        headers: { 'x-forwarded-for': '203.0.113.9' },
      },
    );
    const bar = page.locator('#token-bar');
    await expect.poll(() => bar.getAttribute('data-given')).toBe('false');
    // No header can have the quotes of a text that a token was copied from: requests would fail as if there were no gateway.
    await page.getByLabel('Token').fill(`\u201c${testToken}\u201d`);
    expect(await page.evaluate('document.forms[0].checkValidity()')).toBe(false);
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
    expect(await violationsIn(page, twoLooks, settle)).toEqual([]);
    expect(complaints.filter(text => /Content Security Policy|Refused/.test(text))).toEqual([]);
    await close();
  });

  test('GraphiQL runs a shared operation, and again after a reload', async () => {
    const query = '{ usageApiCounts(project: "abc", interval: DAILY) { totalRestRequests } }';
    const { page, complaints, close } = await openPage(
      await pages.browser.newContext(),
      `${pages.gateway.origin}/graphql?query=${encodeURIComponent(query)}`,
    );
    for (const when of ['first', 'after a reload']) {
      if (when !== 'first') await page.reload();
      await page.getByRole('button', { name: /Execute query/ }).click();
      await page.locator('.graphiql-response', { hasText: '"totalRestRequests": 10' }).waitFor();
    }
    // What is typed can be shared.
    await page.locator('.graphiql-query-editor .view-line').first().click();
    await page.keyboard.press('Control+End');
    await page.keyboard.type('# and more');
    await expect.poll(() => new URL(page.url()).searchParams.get('query')).toContain('# and more');
    expect(page.url()).not.toContain(testToken);
    // An error of syntax is shown without the places in the scripts that found it.
    await page.keyboard.press('Enter');
    await page.keyboard.type('}');
    await page.getByRole('button', { name: /Execute query/ }).click();
    const response = page.locator('.graphiql-response');
    await expect.poll(() => response.innerText()).toMatch(/Syntax\sError/);
    expect(await response.innerText()).not.toContain('library');
    expect(complaints.filter(text => /Content Security Policy|Refused/.test(text))).toEqual([]);
    await close();
  });

  test('the page of the API tries an endpoint', async () => {
    const { page, complaints, close } = await openPage(pages.context, `${pages.gateway.origin}/docs`);
    // By its name alone, to GET and POST.
    await expect.poll(() => page.locator('.opblock', { hasText: '/api/endpoints/query/' }).count()).toBe(4);
    await page.getByText('/api/endpoints/query/usage.api-counts').first().click();
    const block = page.locator('.opblock.is-open').first();
    expect(await block.locator('tr[data-param-name=project] input').inputValue()).toBe('abc');
    await block.locator('tr[data-param-name=interval] select').selectOption('daily');
    await block.getByRole('button', { name: 'Execute' }).click();
    await block.locator('.live-responses-table', { hasText: '"total_rest_requests": 10' }).waitFor();
    expect(await violationsIn(page, twoLooks)).toEqual([]);
    // An answer is shown as it came, with all digits.
    await page.route('**/query/usage.api-counts?*', async route => {
      const response = await route.fetch();
      const body = (await response.text()).replace(
        '"total_rest_requests":10',
        '"total_rest_requests":9007199254740993',
      );
      return route.fulfill({ response, body });
    });
    await block.getByRole('button', { name: 'Execute' }).click();
    await block
      .locator('.live-responses-table', { hasText: '"total_rest_requests": 9007199254740993' })
      .waitFor();
    expect(complaints).toEqual([]);
    await close();
  });

  test('the page of the API sends the token for its document, and says why it has none', async () => {
    const context = await pages.browser.newContext();
    await context.route('**/openapi.json', async route => {
      // As with DOCUMENTS_NEED_TOKEN.
      if (route.request().headers()['x-api-key'] !== testToken) {
        const error = { code: 'unauthorized', message: 'No access token' };
        return route.fulfill({ status: 401, json: { error } });
      }
      // As with the bounds of an INT64, which the page reads as BigInts.
      const response = await route.fetch();
      const body = (await response.text()).replace('"minLength":1', '"maximum":9223372036854775807');
      return route.fulfill({ response, body });
    });
    const headers = { 'x-forwarded-for': '203.0.113.9' };
    const { page, close } = await openPage(context, `${pages.gateway.origin}/docs`, { headers });
    await page.getByRole('alert').getByText('No access token').waitFor();
    await page.getByLabel('Token').fill(testToken);
    await page.getByRole('button', { name: 'Use it' }).click();
    await expect.poll(() => page.locator('.opblock', { hasText: '/api/endpoints/query/' }).count()).toBe(4);
    await close();
  });
}
