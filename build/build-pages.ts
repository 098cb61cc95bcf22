import { createHash } from 'node:crypto';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, extname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { build, transform } from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Where the gateway looks for its pages. */
export const pagesDirectory = join(root, 'dist', 'pages');

/** The address under which the gateway serves assets. */
const assetsPath = '/assets/';

/**
 * Builds the pages for browsers out of `src/page/`: HTML, and assets whose names change with their content. What is worth it is
 * compressed once, here.
 */
export async function buildPages(directory = pagesDirectory): Promise<void> {
  // A gateway that runs finds the old pages until all of the new ones are there.
  const next = `${directory}-${process.pid}`;
  await rm(next, { recursive: true, force: true });
  await mkdir(next, { recursive: true });
  const bundles = await bundle();
  const libraries = await copyLibraries();
  const icon = await addressed('favicon.svg', await readFile(join(root, 'src/page/favicon.svg')));
  const files = [...bundles.files, ...libraries.files, icon];
  const asset = (name: string) => {
    const found = bundles.names.get(name) ?? libraries.names.get(name);
    if (!found) throw new Error(`There is no asset ${name}`);
    return assetsPath + found;
  };
  // What a module imports would be asked for only once the module has come.
  const preload = (name: string): string =>
    modulesOf(basename(asset(name)), bundles.imports)
      .map(file => `<link rel="modulepreload" href="${assetsPath}${file}">`)
      .join('\n');
  const pages = { explorer: explorerPage, graphiql: graphiqlPage, docs: docsPage };
  for (const [name, page] of Object.entries(pages)) {
    files.push({
      name: `${name}.html`,
      bytes: Buffer.from(page({ asset, preload, icon: assetsPath + icon.name })),
    });
  }
  await Promise.all(files.map(file => writeCompressed(next, file)));
  await rm(directory, { recursive: true, force: true });
  await rename(next, directory);
}

type File = { readonly name: string; readonly bytes: Buffer };
type Files = {
  readonly files: readonly File[];
  /** Names with their hashes, by the names without. */
  readonly names: ReadonlyMap<string, string>;
};

/** Our own sources. */
async function bundle(): Promise<Files & { readonly imports: ReadonlyMap<string, readonly string[]> }> {
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints: {
      explorer: 'src/page/explorer.tsx',
      'explorer-style': 'src/page/explorer.css',
      graphiql: 'src/page/pages/graphiql.ts',
      docs: 'src/page/pages/docs.ts',
      'tool-page': 'src/page/pages/tool-page.css',
    },
    outdir: 'out',
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    target: 'es2023',
    minify: true,
    jsx: 'automatic',
    jsxImportSource: 'preact',
    metafile: true,
    write: false,
    logLevel: 'warning',
  });
  const names = new Map<string, string>();
  const imports = new Map<string, readonly string[]>();
  for (const [path, { entryPoint, ...output }] of Object.entries(metafile.outputs)) {
    if (entryPoint) names.set(basename(entryPoint), basename(path));
    const needed = output.imports.filter(({ kind }) => kind === 'import-statement');
    imports.set(
      basename(path),
      needed.map(own => basename(own.path)),
    );
  }
  const files = outputFiles.map(({ path, contents }) => ({
    name: basename(path),
    bytes: Buffer.from(contents),
  }));
  return { files, names, imports };
}

/** A module, and what it imports at once. */
function modulesOf(file: string, imports: ReadonlyMap<string, readonly string[]>): string[] {
  const found = (imports.get(file) ?? []).flatMap(each => modulesOf(each, imports));
  return [...new Set([file, ...found])];
}

/** Libraries that come built: GraphiQL with the workers of its editor, and Swagger UI. */
async function copyLibraries(): Promise<Files> {
  // The package offers a page with all of it inline; its file has the parts.
  const graphiql = pathToFileURL(join(root, 'node_modules/@graphql-yoga/render-graphiql/esm/graphiql.js'));
  const { js, css, editorWorkerService, jsonWorker, graphqlWorker } = await import(graphiql.href);
  const swagger = join(root, 'node_modules/swagger-ui-dist');
  const minified = async (text: string, loader: 'js' | 'css') =>
    Buffer.from((await transform(text, { minify: true, loader, legalComments: 'inline' })).code);
  const fonts = await fontsOf(css);
  const parts: Record<string, Buffer> = {
    'graphiql-library.js': await minified(js, 'js'),
    'graphiql-library.css': await minified(fonts.css, 'css'),
    'graphiql-editor-worker.js': await minified(editorWorkerService, 'js'),
    'graphiql-json-worker.js': await minified(jsonWorker, 'js'),
    'graphiql-graphql-worker.js': await minified(graphqlWorker, 'js'),
    'swagger-ui.js': await readFile(join(swagger, 'swagger-ui-bundle.js')),
    'swagger-ui.css': await readFile(join(swagger, 'swagger-ui.css')),
  };
  const entries = await Promise.all(
    Object.entries(parts).map(async ([name, bytes]) => [name, await addressed(name, bytes)] as const),
  );
  return {
    files: [...fonts.files, ...entries.map(([, file]) => file)],
    names: new Map(entries.map(([name, file]) => [name, file.name])),
  };
}

/** The fonts of a style sheet that has them inline, as files: a browser asks for those alone whose characters it draws. */
async function fontsOf(css: string): Promise<{ readonly css: string; readonly files: readonly File[] }> {
  const files = new Map<string, File>();
  for (const [url, format, data] of css.matchAll(inlineFont)) {
    files.set(url, await addressed(`font.${format}`, Buffer.from(data!, 'base64')));
  }
  const linked = css.replace(inlineFont, url => `url(${assetsPath}${files.get(url)!.name})`);
  return { css: linked, files: [...files.values()] };
}

const inlineFont = /url\(["']?data:font\/(\w+);(?:charset=[\w-]+;)?base64,([\w+/=]+)["']?\)/g;

/** A file with the hash of its content in its name, as esbuild names its own. */
async function addressed(name: string, bytes: Buffer): Promise<File> {
  const hash = createHash('sha256').update(bytes).digest('hex').slice(0, 8).toUpperCase();
  return { name: `${basename(name, extname(name))}-${hash}${extname(name)}`, bytes };
}

/** Higher levels take seconds for a library, and save a few percent. */
const brotliOptions = { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } };

/** Writes a file, and beside it what clients get that accept an encoding. */
async function writeCompressed(directory: string, { name, bytes }: File): Promise<void> {
  const path = join(directory, name);
  await Promise.all([
    writeFile(path, bytes),
    promisify(brotliCompress)(bytes, brotliOptions).then(encoded => writeFile(`${path}.br`, encoded)),
    promisify(gzip)(bytes, { level: 9 }).then(encoded => writeFile(`${path}.gz`, encoded)),
  ]);
}

/** What a page is made with. */
type Parts = {
  /** The address of an asset. */
  readonly asset: (name: string) => string;
  /** Links that ask for a module, and for what it imports, at once. */
  readonly preload: (name: string) => string;
  readonly icon: string;
};

const page = (title: string, icon: string, head: string, body: string) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="${icon}">
${head}
</head>
<body>
${body}
<noscript>This page needs JavaScript. The same is at <a href="/api/endpoints">/api/endpoints</a> without it.</noscript>
</body>
</html>
`;

// The header is there before the script; so is the answer to what the script asks first.
const explorerPage = ({ asset, preload, icon }: Parts) =>
  page(
    'Saved queries',
    icon,
    `<link rel="stylesheet" href="${asset('explorer.css')}">
<script type="module" src="${asset('explorer.tsx')}"></script>
${preload('explorer.tsx')}
<link rel="preload" href="/api/sample" as="fetch" crossorigin>
${preload('time-chart.tsx')}`,
    '<div id="app"><header><h1>Saved queries</h1></header></div>',
  );

const tokenBar = `<header><form id="token-bar">
<a href="/">Saved queries</a>
<label for="token-field">Token</label>
<input id="token-field" type="password" autocomplete="off" pattern="[ -~]*" title="Letters, digits and signs of ASCII">
<button>Use it</button>
</form></header>`;

const graphiqlPage = ({ asset, preload, icon }: Parts) =>
  page(
    'GraphiQL: saved queries',
    icon,
    `<link rel="stylesheet" href="${asset('graphiql-library.css')}">
<link rel="stylesheet" href="${asset('tool-page.css')}">
<script defer src="${asset('graphiql-library.js')}"></script>
<script type="module" src="${asset('graphiql.ts')}"></script>
${preload('graphiql.ts')}`,
    `${tokenBar.replace('<header>', '<header><h1 class="hidden">GraphiQL</h1>')}
<main id="root" data-editor-worker-service="${asset('graphiql-editor-worker.js')}" data-json="${asset('graphiql-json-worker.js')}" data-graphql="${asset('graphiql-graphql-worker.js')}"></main>`,
  );

const docsPage = ({ asset, preload, icon }: Parts) =>
  page(
    'API: saved queries',
    icon,
    `<link rel="stylesheet" href="${asset('swagger-ui.css')}">
<link rel="stylesheet" href="${asset('tool-page.css')}">
<script defer src="${asset('swagger-ui.js')}"></script>
<script type="module" src="${asset('docs.ts')}"></script>
${preload('docs.ts')}`,
    `${tokenBar}
<div id="root"></div>`,
  );

if (import.meta.main) await buildPages();
