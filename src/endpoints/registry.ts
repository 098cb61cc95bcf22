import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '../base/errors.ts';
import type { EndpointDefinition } from './definition.ts';
import type { EndpointEvent } from './endpoint-events.ts';
import { createTakenNames } from './graphql-names.ts';
import { allOf, batchFile, DefinitionError, parseDefinition } from './parse-definition.ts';
import { byPrecedence, isPromised } from './precedence.ts';
import { unreadableFolder } from './sources.ts';
import { watchFolder } from './watch-folder.ts';

/** The saved queries that are currently served. */
export type EndpointRegistry = {
  /** By name, or by UUID in any case. */
  find(reference: string): EndpointDefinition | undefined;
  /** In the order of their names. */
  all(): readonly EndpointDefinition[];
  /** Increases with every change of what is served; anything derived from the definitions must then be rebuilt. */
  readonly version: number;
  /** The problems of files that can't be served; their last valid definitions, if any, are served instead. */
  readonly broken: readonly DefinitionError[];
  close(): void;
};

type RegistryOptions = {
  /** Folder of `<name>.sql` files. */
  readonly directory: string;
  /** Checks a definition against the engine: that its names resolve, and its columns are those of the header. Throws DefinitionError. */
  readonly check: (definition: EndpointDefinition) => Promise<void>;
  readonly emit: (event: EndpointEvent) => void;
  /** Whether changed files are picked up without a restart. Default true. */
  readonly watch?: boolean;
  /** Milliseconds between two further checks of broken files: the tables that they read may exist by then. Default 10,000. */
  readonly retryMs?: number;
};

/**
 * Reads all saved queries of a folder and follows its changes. A broken file affects only itself: all others are served.
 * @throws AggregateError naming file, line and key of each problem if files are there and none can be served
 */
export async function createEndpointRegistry(options: RegistryOptions): Promise<EndpointRegistry> {
  const { directory, emit, watch = true, retryMs = 10_000 } = options;
  let served = new Map<string, EndpointDefinition>();
  /** By name and by UUID, which no name looks like. */
  let found = new Map<string, EndpointDefinition>();
  let texts = new Map<string, string>();
  let broken = new Map<string, DefinitionError>();
  let version = 0;
  let isStarting = true;

  async function load(): Promise<void> {
    const read = await readFiles(options, { served, texts, broken });
    const next = chooseServed(read, served);
    const loaded = [...next.served.values()].filter(each => served.get(each.file) !== each);
    const removed = [...served.values()].filter(({ file }) => !next.served.has(file));
    const isNew = ({ file, message }: DefinitionError) =>
      broken.get(file)?.message !== message || texts.get(file) !== read.texts.get(file);
    const newlyBroken = [...next.broken.values()].filter(isNew);
    served = new Map([...next.served].sort(([a], [b]) => (a < b ? -1 : 1)));
    ({ texts } = read);
    ({ broken } = next);
    found = new Map(
      [...served.values()].flatMap(each => [
        [each.name, each],
        [each.id, each],
      ]),
    );
    if (isStarting && served.size === 0 && broken.size > 0) throw allOf([...broken.values()]);
    isStarting = false;
    if (loaded.length + removed.length > 0) version++;
    for (const { file, message } of newlyBroken) emit({ type: 'endpoint.broken', file, message });
    for (const { name, file } of loaded) emit({ type: 'endpoint.loaded', endpoint: name, file });
    for (const { name, file } of removed) emit({ type: 'endpoint.removed', endpoint: name, file });
  }

  await load();
  const onFailed = ({ message }: Error) => emit({ type: 'endpoint.broken', file: directory, message });
  const watcher = watch
    ? watchFolder(directory, {
        onChange: load,
        onFailed,
        retry: { everyMs: retryMs, isNeeded: () => broken.size > 0 },
      })
    : undefined;
  // Changes made while the files were read and checked were not reported.
  watcher?.lookSoon();
  return {
    find: reference => found.get(uuid.test(reference) ? reference.toLowerCase() : reference),
    all: () => [...served.values()],
    get version() {
      return version;
    },
    get broken() {
      return [...broken.values()];
    },
    close: () => watcher?.close(),
  };
}

/**
 * Reads all saved queries of a folder, without checking them against an engine.
 * @throws AggregateError naming file, line and key of each problem
 */
export async function readDefinitions(directory: string): Promise<readonly EndpointDefinition[]> {
  const registry = await createEndpointRegistry({
    directory,
    check: async () => {},
    emit: () => {},
    watch: false,
  });
  if (registry.broken.length > 0) throw allOf(registry.broken);
  return registry.all();
}

/** The result of the previous reading. */
type Known = {
  readonly served: ReadonlyMap<string, EndpointDefinition>;
  readonly texts: ReadonlyMap<string, string>;
  readonly broken: ReadonlyMap<string, DefinitionError>;
};

/** The definitions in the files now. */
type Read = {
  readonly texts: Map<string, string>;
  /** Definitions that are already served. */
  readonly unchanged: readonly EndpointDefinition[];
  readonly changed: readonly EndpointDefinition[];
  readonly broken: Map<string, DefinitionError>;
};

/**
 * Assigns GraphQL names and UUIDs to the files that claim them: first to the saved queries that come with the service, then to those
 * already served, then to the rest by precedence. A file that loses its claim, or is broken, keeps its last valid definition.
 */
function chooseServed(
  { unchanged, changed, broken: unreadable }: Read,
  before: ReadonlyMap<string, EndpointDefinition>,
): { readonly served: Map<string, EndpointDefinition>; readonly broken: Map<string, DefinitionError> } {
  const served = new Map<string, EndpointDefinition>();
  const broken = new Map(unreadable);
  const names = createTakenNames();
  const serve = (definition: EndpointDefinition) => {
    served.set(definition.file, definition);
    names.add(definition);
  };
  const kept = new Set([...unchanged, ...[...unreadable.keys()].flatMap(file => before.get(file) ?? [])]);
  const rank = (definition: EndpointDefinition) => {
    if (isPromised(definition)) return 0;
    if (kept.has(definition)) return 1;
    return before.has(definition.file) ? 2 : 3;
  };
  const atStart = once(() => filesOfStart([...unchanged, ...changed]));
  const inTurn = [...kept, ...changed].sort((a, b) => rank(a) - rank(b) || byPrecedence(a, b));
  for (const definition of inTurn) {
    const { file } = definition;
    const servedAtStart = (owner: string) => {
      const winner = [owner, file].find(each => atStart().has(each));
      return winner === undefined ? '' : `; the next start serves ${winner}`;
    };
    const problems = names.problemsOf(definition, servedAtStart);
    if (problems.length === 0) {
      serve(definition);
      continue;
    }
    if (!broken.has(file)) broken.set(file, new DefinitionError(file, problems));
    const previous = before.get(file);
    if (previous && previous !== definition && names.problemsOf(previous).length === 0) serve(previous);
  }
  return { served, broken };
}

/** The files that a fresh start would serve, where those served now have no precedence. */
function filesOfStart(readable: readonly EndpointDefinition[]): ReadonlySet<string> {
  const names = createTakenNames();
  const files = new Set<string>();
  for (const definition of [...readable].sort(byPrecedence)) {
    if (names.problemsOf(definition).length > 0) continue;
    names.add(definition);
    files.add(definition.file);
  }
  return files;
}

function once<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/** Definitions that are read and checked at the same time. */
const maxChecks = 8;

/** Reads the files that have changed, and again those that were broken. */
async function readFiles(options: RegistryOptions, { served, texts, broken: before }: Known): Promise<Read> {
  const all = new Set(await listFiles(options.directory));
  const files = [...all].filter(file => !file.endsWith('.batch.sql') || !all.has(ownerOf(file)));
  const nextTexts = new Map<string, string>();

  async function read(file: string): Promise<EndpointDefinition | DefinitionError> {
    try {
      const text = await readFile(join(options.directory, file), 'utf8');
      const batch = batchFile(file);
      const batchSql = all.has(batch) ? await readFile(join(options.directory, batch), 'utf8') : undefined;
      const both = JSON.stringify([text, batchSql]);
      nextTexts.set(file, both);
      const current = served.get(file);
      if (current && texts.get(file) === both && !before.has(file)) return current;
      const definition = parseDefinition(file, text, batchSql);
      await options.check(definition);
      return definition;
    } catch (error) {
      if (error instanceof DefinitionError) return error;
      const message = messageOf(error);
      return new DefinitionError(file, [{ line: 1, key: '', message: `can't be read: ${message}` }]);
    }
  }

  const results = await mapInTurn(files, maxChecks, read);
  const definitions = results.flatMap(result => (result instanceof DefinitionError ? [] : [result]));
  return {
    texts: nextTexts,
    unchanged: definitions.filter(each => served.get(each.file) === each),
    changed: definitions.filter(each => served.get(each.file) !== each),
    broken: new Map(
      results.flatMap(result => (result instanceof DefinitionError ? [[result.file, result]] : [])),
    ),
  };
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

/** Files whose names begin with a dot belong to editors and systems. */
const isDefinitionFile = (file: string) => file.endsWith('.sql') && !file.startsWith('.');

async function listFiles(directory: string): Promise<string[]> {
  try {
    return (await readdir(directory)).filter(isDefinitionFile).sort();
  } catch (cause) {
    throw unreadableFolder('saved queries', directory, 'SQL_DIR', cause);
  }
}

/** Contract 2.2: 8-4-4-4-12 hexadecimal digits in any case are a UUID, nothing else is. */
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
