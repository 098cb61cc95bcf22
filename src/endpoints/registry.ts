import { type FSWatcher, watch } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { EndpointDefinition } from './definition.ts';
import type { EndpointEvent } from './endpoint-events.ts';
import { createTakenNames } from './graphql-names.ts';
import { batchFile, DefinitionError, parseDefinition } from './parse-definition.ts';

/** The saved queries that are served right now. */
export type EndpointRegistry = {
  /** By name, or by UUID in any case. */
  find(reference: string): EndpointDefinition | undefined;
  /** In the order of their names. */
  all(): readonly EndpointDefinition[];
  /** Grows with every change of what is served; whatever is derived from the definitions is rebuilt then. */
  readonly version: number;
  /** Files whose last change can't be served: an earlier one is, if there was any. */
  readonly broken: readonly string[];
  close(): void;
};

type RegistryOptions = {
  /** Folder of `<name>.sql` files. */
  readonly directory: string;
  /** Checks a definition against the engine: do its names resolve, are its columns those of the header? Throws DefinitionError. */
  readonly check: (definition: EndpointDefinition) => Promise<void>;
  readonly emit: (event: EndpointEvent) => void;
  /** Pick up changed files without a restart. Default true. */
  readonly watch?: boolean;
};

/** Editors write a file in several steps; one reload answers them all. */
const settleMs = 50;

/**
 * Reads all saved queries of a folder and follows its changes.
 * @throws DefinitionError naming file, line and key when a file is broken at start
 */
export async function createEndpointRegistry(options: RegistryOptions): Promise<EndpointRegistry> {
  let served = new Map<string, EndpointDefinition>();
  /** By name and by UUID, which no name looks like. */
  let found = new Map<string, EndpointDefinition>();
  let texts = new Map<string, string>();
  let version = 0;
  let brokenFiles: readonly string[] = [];

  async function load(onBroken: (error: DefinitionError) => void): Promise<void> {
    const known = { served, texts, brokenFiles };
    const { nextTexts, kept, changed, broken } = await readFiles(options, known, onBroken);
    const next = new Map(kept);
    const names = createTakenNames();
    for (const definition of kept.values()) names.add(definition);
    const serve = (definition: EndpointDefinition) => {
      next.set(definition.file, definition);
      names.add(definition);
    };
    const loaded: EndpointDefinition[] = [];
    for (const definition of changed) {
      const { file } = definition;
      const problems = names.problemsOf(definition);
      if (problems.length === 0) {
        serve(definition);
        loaded.push(definition);
        continue;
      }
      onBroken(new DefinitionError(file, problems));
      broken.push(file);
      // Whoever has the name may give it up: the file is read again at the next change.
      nextTexts.delete(file);
      const previous = served.get(file);
      if (previous && names.problemsOf(previous).length === 0) serve(previous);
    }
    const removed = [...served.values()].filter(({ file }) => !next.has(file));
    texts = nextTexts;
    brokenFiles = broken;
    served = new Map([...next].sort(([a], [b]) => (a < b ? -1 : 1)));
    found = new Map(
      [...served.values()].flatMap(each => [
        [each.name, each],
        [each.id, each],
      ]),
    );
    if (loaded.length + removed.length > 0) version++;
    for (const { name, file } of loaded) options.emit({ type: 'endpoint.loaded', endpoint: name, file });
    for (const { name, file } of removed) options.emit({ type: 'endpoint.removed', endpoint: name, file });
  }

  const broken: DefinitionError[] = [];
  await load(error => broken.push(error));
  if (broken.length > 0) throw new AggregateError(broken, broken.map(error => error.message).join('\n'));

  const reload = serialised(() =>
    load(({ file, message }) => options.emit({ type: 'endpoint.broken', file, message })),
  );
  const watcher = options.watch === false ? undefined : watchFolder(options.directory, reload, options.emit);
  return {
    find: reference => found.get(uuid.test(reference) ? reference.toLowerCase() : reference),
    all: () => [...served.values()],
    get version() {
      return version;
    },
    get broken() {
      return brokenFiles;
    },
    close: () => watcher?.close(),
  };
}

/** What was read before. */
type Known = {
  readonly served: ReadonlyMap<string, EndpointDefinition>;
  readonly texts: ReadonlyMap<string, string>;
  readonly brokenFiles: readonly string[];
};

/** Definitions that are read and checked at a time. */
const maxChecks = 8;

/** Reads the files that have changed. A broken one keeps its last good definition. */
async function readFiles(
  options: RegistryOptions,
  { served, texts, brokenFiles }: Known,
  onBroken: (error: DefinitionError) => void,
) {
  const all = new Set(await listFiles(options.directory));
  const files = [...all].filter(file => !file.endsWith('.batch.sql') || !all.has(ownerOf(file)));
  const nextTexts = new Map<string, string>();
  const kept = new Map<string, EndpointDefinition>();
  const changed: EndpointDefinition[] = [];
  const broken: string[] = [];

  async function read(file: string): Promise<EndpointDefinition | DefinitionError | undefined> {
    const text = await readFile(join(options.directory, file), 'utf8');
    const batch = batchFile(file);
    const batchSql = all.has(batch) ? await readFile(join(options.directory, batch), 'utf8') : undefined;
    const both = JSON.stringify([text, batchSql]);
    nextTexts.set(file, both);
    if (texts.get(file) === both) return undefined;
    try {
      const definition = parseDefinition(file, text, batchSql);
      await options.check(definition);
      return definition;
    } catch (error) {
      if (!(error instanceof DefinitionError)) throw error;
      return error;
    }
  }

  const results = await mapInTurn(files, maxChecks, read);
  for (const [at, file] of files.entries()) {
    const result = results[at];
    const previous = served.get(file);
    if (previous && (!result || result instanceof DefinitionError)) kept.set(file, previous);
    if (result instanceof DefinitionError) onBroken(result);
    else if (result) changed.push(result);
    if (result instanceof DefinitionError || (!result && brokenFiles.includes(file))) broken.push(file);
  }
  return { nextTexts, kept, changed, broken };
}

/** Maps items in their order, `width` of them at a time. */
async function mapInTurn<Item, Result>(
  items: readonly Item[],
  width: number,
  map: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  const next = items.entries();
  const work = async () => {
    for (const [at, item] of next) results[at] = await map(item);
  };
  await Promise.all(Array.from({ length: width }, work));
  return results;
}

/** The file of the saved query that a batch form belongs to. */
function ownerOf(batch: string): string {
  return batch.replace(/\.batch\.sql$/, '.sql');
}

async function listFiles(directory: string): Promise<string[]> {
  try {
    return (await readdir(directory)).filter(file => file.endsWith('.sql')).sort();
  } catch (cause) {
    throw new Error(
      `The folder of saved queries, ${directory}, can't be read: ${(cause as Error).message}. Commands run in the folder of the project, or with SQL_DIR`,
      { cause },
    );
  }
}

/** Contract 2.2: 8-4-4-4-12 hexadecimal digits in any case are a UUID, nothing else is. */
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

function watchFolder(
  directory: string,
  reload: () => Promise<void>,
  emit: (event: EndpointEvent) => void,
): FSWatcher {
  let settling: NodeJS.Timeout | undefined;
  const failed = (error: Error) => emit({ type: 'endpoint.broken', file: directory, message: error.message });
  const watcher = watch(directory, { persistent: false }, () => {
    clearTimeout(settling);
    settling = setTimeout(() => reload().catch(failed), settleMs).unref();
  });
  watcher.on('error', failed);
  return watcher;
}

/** Runs one call after the other; every caller's promise covers a run that began after the call. */
function serialised(run: () => Promise<void>): () => Promise<void> {
  let last: Promise<void> = Promise.resolve();
  return () => {
    last = last.catch(() => undefined).then(run);
    return last;
  };
}
