import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { GatewayError, quoted } from '../base/errors.ts';
import { ignoreMissing } from '../base/missing-file.ts';
import { preferredEncoding } from '../http-messages/content-negotiation.ts';
import type { HttpResponse } from '../http-messages/send-response.ts';

/** The pages that the gateway serves to browsers. */
type PageName = 'explorer' | 'graphiql' | 'docs';

/** The built pages and their assets. */
export type PageFiles = {
  /**
   * A page.
   * @param acceptEncoding the request's header
   * @returns undefined if the pages were not built
   */
  page(name: PageName, acceptEncoding: string | undefined): Promise<HttpResponse | undefined>;
  /**
   * A script, a style sheet, an image or a font.
   * @throws GatewayError `route_not_found`
   */
  asset(name: string, acceptEncoding: string | undefined): Promise<HttpResponse>;
};

/** Where `npm run build` puts them. */
const builtPages = fileURLToPath(new URL('../../dist/pages', import.meta.url));

/** The build writes both forms beside each file. */
const encodings = { br: '.br', gzip: '.gz' } as const;
const offered = ['br', 'gzip'] as const;

const types: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
  ttf: 'font/ttf',
  woff: 'font/woff',
  woff2: 'font/woff2',
};

/** The name of an asset contains the hash of its content. Other names are never looked up. */
const assetName = /^[a-z][\w-]*-[0-9A-Z]{8}\.(css|js|svg|ttf|woff2?)$/;

const shared =
  "default-src 'none'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; script-src 'self'";

/** Content security policies: nothing inline, and nothing from elsewhere, except inline styles for the libraries of the other pages. */
const policies: Readonly<Record<PageName, string>> = {
  explorer: `${shared}; style-src 'self'; img-src 'self' data:`,
  graphiql: `${shared}; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; worker-src 'self'`,
  docs: `${shared}; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:`,
};

/** Reads the built pages; a file is read once. */
export function openPageFiles(directory = builtPages): PageFiles {
  const read = new Map<string, Promise<Buffer>>();

  function load(name: string): Promise<Buffer> {
    const known = read.get(name);
    if (known) return known;
    const reading = readFile(join(directory, name));
    read.set(name, reading);
    // The file may be built later.
    reading.catch(() => read.delete(name));
    return reading;
  }

  /** @returns undefined if there is no such file */
  async function find(name: string, acceptEncoding: string | undefined): Promise<HttpResponse | undefined> {
    const encoding = acceptEncoding === undefined ? undefined : preferredEncoding(acceptEncoding, offered);
    const body = await load(encoding ? name + encodings[encoding] : name).catch(ignoreMissing);
    if (!body) return undefined;
    const headers = {
      'content-type': types[name.slice(name.lastIndexOf('.') + 1)],
      vary: 'Accept-Encoding',
      ...(encoding && { 'content-encoding': encoding }),
    };
    return { status: 200, headers, body };
  }

  return {
    async page(name, acceptEncoding) {
      const found = await find(`${name}.html`, acceptEncoding);
      if (!found) return undefined;
      const headers = {
        ...found.headers,
        vary: 'Accept, Accept-Encoding',
        'cache-control': 'no-cache',
        'content-security-policy': policies[name],
        'referrer-policy': 'no-referrer',
        'cross-origin-opener-policy': 'same-origin',
      };
      return { ...found, headers };
    },
    async asset(name, acceptEncoding) {
      const found = assetName.test(name) ? await find(name, acceptEncoding) : undefined;
      if (!found) throw new GatewayError('route_not_found', `No asset has the name ${quoted(name)}`);
      return {
        ...found,
        headers: { ...found.headers, 'cache-control': 'public, max-age=31536000, immutable' },
      };
    },
  };
}
