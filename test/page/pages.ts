import type { Browser, BrowserContext } from 'playwright-core';
import { edgeRow } from '../support/edge-row.ts';
import { type OpenGateway, openGateway, testToken } from '../support/open-gateway.ts';
import { bringPages } from './built-pages.ts';
import { launchChromium } from './open-browser.ts';

/** What the tests in Chromium share: all of it takes seconds to start. */
export type Pages = {
  readonly browser: Browser;
  /** For tests that need no storage and no cache of their own. */
  readonly context: BrowserContext;
  /** Over the rows below, on the page of its first start. */
  readonly gateway: OpenGateway;
};

/** Builds the pages where they are out of date, and opens a gateway and a browser. */
export async function openPages(): Promise<Pages> {
  await bringPages();
  const gateway = await openGateway({
    now: '2026-01-15T12:00:30Z',
    rows: { 'cloudflare.logs.prod': rows() },
    pageSample: { token: testToken, parameters: { project: 'abc' } },
  });
  const browser = await launchChromium();
  const context = await browser.newContext({ permissions: ['clipboard-read', 'clipboard-write'] });
  return { gateway, browser, context };
}

/** Requests of one project by minute and area. */
export const counts = [
  ['11:50', { rest: 3, auth: 1 }],
  ['11:51', { rest: 6, storage: 2, realtime: 1 }],
  ['11:53', { rest: 1 }],
  ['11:59', { storage: 4, auth: 2 }],
] as const;

/** What the texts of the last row hold. */
export const script = '<img src=x onerror="window.isHurt=1"><script>window.isHurt=1</script>';

/** All rows of the gateway. */
export function rows() {
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
  const nasty = edgeRow({ id: script, timestamp: '2026-01-15T11:59:59.5Z', project: 'abc', path: '/x' });
  const failed = [{ request: [{ method: 'GET', path: '/x' }], response: [{ status_code: 503 }] }];
  return [...requests, { ...nasty, event_message: script, metadata: failed }];
}
