import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

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

/** Opens an address in a browser of its own, as far as storage is concerned. */
export async function openPage(
  browser: Browser,
  address: string,
  { token, ...options }: BrowserContextOptions & { readonly token?: string } = {},
): Promise<OpenedPage> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  if (token) {
    await context.addInitScript(
      `sessionStorage.setItem('saved-query-gateway.token', ${JSON.stringify(token)})`,
    );
  }
  const page = await context.newPage();
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
  return { page, complaints, close: () => context.close() };
}

/** The themes and widths in which a page is judged. */
const looks = (['light', 'dark'] as const).flatMap(colorScheme =>
  [1280, 360].map(width => ({ colorScheme, width })),
);

/**
 * The violations that axe finds in a page as it stands, in both themes, on a desktop and on a phone.
 * @param settle waits until the page has the new look. Default: it has it at once
 */
export async function violationsInEveryLook(
  page: Page,
  settle: () => Promise<unknown> = async () => undefined,
): Promise<string[]> {
  const found: string[] = [];
  for (const { colorScheme, width } of looks) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await page.setViewportSize({ width, height: 900 });
    await settle();
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
