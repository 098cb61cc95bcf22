import { type FSWatcher, watch } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { EndpointDefinition } from './definition.ts';
import type { EndpointEvent } from './endpoint-events.ts';
import { graphqlName, sqlFieldName } from './names.ts';
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
  let texts = new Map<string, string>();
  let version = 0;
  let brokenFiles: readonly string[] = [];

  async function load(onBroken: (error: DefinitionError) => void): Promise<void> {
    const all = await listFiles(options.directory);
    const files = all.filter(file => !file.endsWith('.batch.sql') || !all.includes(ownerOf(file)));
    const nextTexts = new Map<string, string>();
    const next = new Map<string, EndpointDefinition>();
    const changed: EndpointDefinition[] = [];
    const nextBroken: string[] = [];
    for (const file of files) {
      const text = await readFile(join(options.directory, file), 'utf8');
      const batch = batchFile(file);
      const batchSql = all.includes(batch)
        ? await readFile(join(options.directory, batch), 'utf8')
        : undefined;
      const both = JSON.stringify([text, batchSql]);
      nextTexts.set(file, both);
      const previous = served.get(file);
      if (texts.get(file) === both) {
        if (previous) next.set(file, previous);
        if (brokenFiles.includes(file)) nextBroken.push(file);
        continue;
      }
      try {
        const definition = parseDefinition(file, text, batchSql);
        rejectCollision(definition, [...next.values()]);
        await options.check(definition);
        next.set(file, definition);
        changed.push(definition);
      } catch (error) {
        if (!(error instanceof DefinitionError)) throw error;
        onBroken(error);
        nextBroken.push(file);
        if (previous) next.set(file, previous);
      }
    }
    const removed = [...served.values()].filter(({ file }) => !next.has(file));
    texts = nextTexts;
    brokenFiles = nextBroken;
    served = next;
    if (changed.length + removed.length > 0) version++;
    for (const { name, file } of changed) options.emit({ type: 'endpoint.loaded', endpoint: name, file });
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
    find: reference => findIn([...served.values()], reference),
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

/** The file of the saved query that a batch form belongs to. */
function ownerOf(batch: string): string {
  return batch.replace(/\.batch\.sql$/, '.sql');
}

async function listFiles(directory: string): Promise<string[]> {
  try {
    return (await readdir(directory)).filter(file => file.endsWith('.sql')).sort();
  } catch (cause) {
    throw new Error(`The folder of saved queries, ${directory}, can't be read: ${String(cause)}`, { cause });
  }
}

/** Contract 2.2: 8-4-4-4-12 hexadecimal digits in any case are a UUID, nothing else is. */
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

function findIn(all: readonly EndpointDefinition[], reference: string): EndpointDefinition | undefined {
  if (!uuid.test(reference)) return all.find(({ name }) => name === reference);
  const id = reference.toLowerCase();
  return all.find(definition => definition.id === id);
}

/** Two files must not answer to one id, one name, or one GraphQL field. */
function rejectCollision(definition: EndpointDefinition, others: readonly EndpointDefinition[]): void {
  for (const other of others) {
    const sharesField = fieldsOf(other).some(field => fieldsOf(definition).includes(field));
    const key = other.id === definition.id ? 'id' : sharesField ? 'name' : undefined;
    if (!key) continue;
    throw new DefinitionError(definition.file, [
      { line: 1, key, message: `is taken by ${other.file} already` },
    ]);
  }
}

function fieldsOf({ name, sandbox }: EndpointDefinition): string[] {
  return sandbox ? [graphqlName(name), sqlFieldName(name)] : [graphqlName(name)];
}

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
