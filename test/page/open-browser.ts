import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';

/** Where Debian, and others, put it. */
const places = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** The Chromium of this machine; undefined if it has none. */
export const chromiumPath = [process.env.CHROMIUM ?? '', ...places].find(path => path && existsSync(path));

if (!chromiumPath) {
  process.stderr.write(
    '\nNO CHROMIUM: the pages are NOT tested in a browser. To have it: sudo apt-get install -y chromium\n\n',
  );
}

/** Milliseconds that one step may take on a machine with much else to do. */
const timeoutMs = 60_000;

/** Starts it; Chromium refuses its own sandbox to root, and containers have a small /dev/shm. */
export function launchChromium(): Promise<Browser> {
  return chromium.launch({
    timeout: timeoutMs,
    ...(chromiumPath && { executablePath: chromiumPath }),
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'],
  });
}

export type OpenedPage = {
  readonly page: Page;
  /** What the console and the browser complained about, but for answers that are no 200; and requests to elsewhere. */
  readonly complaints: string[];
  close(): Promise<void>;
};

/** How a tab differs from one on a desktop without a token. */
type TabOptions = {
  readonly token?: string;
  readonly viewport?: { readonly width: number; readonly height: number };
  /** Of each request, beside the browser's own. */
  readonly headers?: Record<string, string>;
};

/** Opens an address in a tab of its own: half of what a context of its own costs, which is for tests of what browsers keep. */
export async function openPage(
  context: BrowserContext,
  address: string,
  { token, viewport = { width: 1280, height: 900 }, headers }: TabOptions = {},
): Promise<OpenedPage> {
  const page = await context.newPage();
  await page.setViewportSize(viewport);
  if (headers) await page.setExtraHTTPHeaders(headers);
  if (token) {
    await page.addInitScript(`sessionStorage.setItem('saved-query-gateway.token', ${JSON.stringify(token)})`);
  }
  page.setDefaultTimeout(timeoutMs);
  const complaints: string[] = [];
  page.on('pageerror', error => complaints.push(error.message));
  page.on('console', message => {
    // Answers that are no 200 are the page's to show; the canvas is read by a test.
    const isAnswer = /^(Failed to load resource|Canvas2D)/.test(message.text());
    if (['error', 'warning'].includes(message.type()) && !isAnswer) complaints.push(message.text());
  });
  const { origin } = new URL(address);
  page.on('request', request => {
    const { protocol, origin: asked } = new URL(request.url());
    if (/^https?:$/.test(protocol) && asked !== origin) complaints.push(`asks ${request.url()}`);
  });
  await page.goto(address);
  return { page, complaints, close: () => page.close() };
}

type Look = { readonly colorScheme: 'light' | 'dark'; readonly width: number };

/** Each theme and each width once; a page begins with the first. */
export const twoLooks: readonly Look[] = [
  { colorScheme: 'light', width: 1280 },
  { colorScheme: 'dark', width: 360 },
];

export const everyLook: readonly Look[] = [
  { colorScheme: 'light', width: 1280 },
  { colorScheme: 'light', width: 360 },
  { colorScheme: 'dark', width: 360 },
  { colorScheme: 'dark', width: 1280 },
];

/**
 * The violations that axe finds in a page as it stands.
 * @param settle waits until the page has another theme. Default: it has it at once
 */
export async function violationsIn(
  page: Page,
  looks: readonly Look[],
  settle: () => Promise<unknown> = async () => undefined,
): Promise<string[]> {
  const found: string[] = [];
  let theme = 'light';
  for (const { colorScheme, width } of looks) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await page.setViewportSize({ width, height: 900 });
    if (colorScheme !== theme) await settle();
    theme = colorScheme;
    found.push(...(await violationsOf(page)).map(text => `${colorScheme} ${width}: ${text}`));
  }
  return found;
}

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** The violations of accessibility rules that axe finds, each with the element; its preloading would write styles into the page. */
export async function violationsOf(page: Page): Promise<string[]> {
  await page.evaluate(axeSource);
  const violations = await page.evaluate<{ id: string; nodes: { html: string; failureSummary: string }[] }[]>(
    'axe.run({ preload: false }).then(({ violations }) => violations)',
  );
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 160)} ${failureSummary}`),
  );
}
