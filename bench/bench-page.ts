import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';
import { startGatewayProcess } from './gateway-process.ts';

/** Visits of each kind; the median is shown. */
const visits = 9;

/** Milliseconds that each way takes in the second table, as to a gateway in another city. */
const latencyMs = 40;

/** How long a first visit with an empty cache takes to the drawn chart, beside a page of one line that draws nothing. */
export async function benchPage(): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'saved-query-gateway-page-'));
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox'],
  });
  // Without a token in its settings it gives the page the one that it makes.
  const gateway = await startGatewayProcess({ DATA_DIR: directory, ACCESS_TOKEN: '' });
  try {
    console.log(
      '\n| network | first view (ms) | least, most | empty page (ms) | first paint (ms) | bytes | requests |',
    );
    console.log('|---|---|---|---|---|---|---|');
    for (const latency of [0, latencyMs]) {
      const found: Visit[] = [];
      const empty: number[] = [];
      await visit(browser, gateway.origin, latency);
      for (let at = 0; at < visits; at++) {
        empty.push(await visitEmpty(browser, gateway.origin, latency));
        found.push(await visit(browser, gateway.origin, latency));
      }
      const times = found.map(({ ms }) => ms);
      const [first] = found;
      console.log(
        `| ${latency === 0 ? 'this machine' : `${latency} ms each way`} | ${median(times)} | ${Math.min(...times).toFixed(0)}, ${Math.max(...times).toFixed(0)} | ${median(empty)} | ${median(found.map(({ paintMs }) => paintMs))} | ${first!.bytes} | ${first!.requests} |`,
      );
    }
  } finally {
    await gateway.stop();
    await browser.close();
    await rm(directory, { recursive: true });
  }
}

type Visit = {
  /** Milliseconds until the chart is drawn. */
  readonly ms: number;
  readonly paintMs: number;
  readonly bytes: number;
  readonly requests: number;
};

async function openTab(browser: Browser, latency: number) {
  // A context has a cache of its own.
  const context = await browser.newContext();
  const page = await context.newPage();
  const session = await context.newCDPSession(page);
  const limits = { offline: false, latency: 2 * latency, downloadThroughput: -1, uploadThroughput: -1 };
  await session.send('Network.emulateNetworkConditions', limits);
  return { context, page };
}

async function visit(browser: Browser, origin: string, latency: number): Promise<Visit> {
  const { context, page } = await openTab(browser, latency);
  const startedMs = performance.now();
  await page.goto(origin, { waitUntil: 'commit' });
  await page.locator('.plot canvas').waitFor();
  const ms = performance.now() - startedMs;
  const seen = await page.evaluate<Omit<Visit, 'ms'>>(`(() => {
    const all = [...performance.getEntriesByType('resource'), ...performance.getEntriesByType('navigation')];
    return {
      paintMs: performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0,
      bytes: all.reduce((sum, { transferSize }) => sum + transferSize, 0),
      requests: all.length,
    };
  })()`);
  await context.close();
  return { ms, ...seen };
}

async function visitEmpty(browser: Browser, origin: string, latency: number): Promise<number> {
  const { context, page } = await openTab(browser, latency);
  const startedMs = performance.now();
  await page.goto(`${origin}/livez`);
  const ms = performance.now() - startedMs;
  await context.close();
  return ms;
}

const median = (values: readonly number[]) =>
  [...values].sort((one, other) => one - other)[Math.floor(values.length / 2)]!.toFixed(0);
