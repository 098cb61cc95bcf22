import { fileURLToPath } from 'node:url';
import { chromium, type Page } from 'playwright-core';

const images = fileURLToPath(new URL('../docs/images/', import.meta.url));

type Screenshot = {
  readonly name: string;
  readonly colorScheme: 'light' | 'dark';
  readonly width: number;
  readonly height: number;
  /** What is done on the first view before the picture is taken. */
  readonly prepare: (page: Page) => Promise<void>;
};

const showLogs = async (page: Page) => {
  await page.getByRole('button', { name: 'logs.all' }).click();
  await page.locator('.row').nth(2).click();
  await page.locator('.details').waitFor();
  await page.mouse.move(0, 0);
};

const readBar = async (page: Page) => {
  const box = (await page.locator('.plot .u-over').boundingBox())!;
  await page.mouse.move(box.x + box.width * 0.7, box.y + box.height / 3);
};

const desktop = { width: 1280, height: 860 };

const screenshots: readonly Screenshot[] = [
  { name: 'explorer-light', colorScheme: 'light', ...desktop, prepare: readBar },
  { name: 'explorer-dark', colorScheme: 'dark', ...desktop, prepare: showLogs },
  { name: 'explorer-phone', colorScheme: 'light', width: 390, height: 844, prepare: async () => undefined },
];

/**
 * Takes the pictures of the documentation, of a gateway on this machine that has its sample data.
 * @param address default `http://127.0.0.1:4000`
 */
async function takeScreenshots(address = 'http://127.0.0.1:4000'): Promise<void> {
  const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
  for (const { name, colorScheme, width, height, prepare } of screenshots) {
    const page = await browser.newPage({ colorScheme, viewport: { width, height } });
    await page.goto(address);
    await page.locator('.plot canvas').waitFor();
    await prepare(page);
    await page.screenshot({ path: `${images}${name}.png` });
    await page.close();
  }
  await browser.close();
}

await takeScreenshots(process.argv[2]);
