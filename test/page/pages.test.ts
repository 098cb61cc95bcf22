import { afterAll, beforeAll, describe } from 'vitest';
import { testExplorer } from './explorer.ts';
import { testFaults } from './faults.ts';
import { chromiumPath } from './open-browser.ts';
import { openPages, type Pages } from './pages.ts';
import { testToolPages } from './tool-pages.ts';

describe.skipIf(!chromiumPath)('in Chromium', () => {
  const pages = {} as { -readonly [name in keyof Pages]: Pages[name] }; // set before the first test
  beforeAll(async () => {
    Object.assign(pages, await openPages());
  });
  afterAll(async () => {
    await pages.browser?.close();
    await pages.gateway?.close();
  });

  describe('the Explorer', () => testExplorer(pages));
  describe('the Explorer, of a gateway with faults', () => testFaults(pages));
  describe('GraphiQL and the page of the API', () => testToolPages(pages));
});
