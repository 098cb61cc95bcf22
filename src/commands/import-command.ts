import { open } from 'node:fs/promises';
import { databasePath } from '../composition/compose-engine.ts';
import type { Config } from '../composition/config.ts';
import { type ImportInput, importLogs } from '../duckdb/import-logs.ts';
import { readSources } from '../endpoints/sources.ts';
import { UsageError } from './command-line.ts';

/**
 * `import <source> <file>`.
 * @throws UsageError; as `importLogs`
 */
export async function runImportCommand(config: Config, args: string[]): Promise<void> {
  const [source, file, ...rest] = args;
  const sources = readSources(config.SOURCES_DIR);
  if (source === undefined || file === undefined || rest.length > 0) {
    throw new UsageError('import takes a source and a file');
  }
  if (!sources.some(({ name }) => name === source)) {
    throw new UsageError(
      `No source is named ${JSON.stringify(source)}; allowed: ${sources.map(({ name }) => name).join(', ')}`,
    );
  }
  const say = (text: string) => process.stderr.write(text);
  const { imported, rejected, ignoredFields } = await importLogs({
    ...(await openInput(file)),
    databasePath: databasePath(config),
    sources,
    source,
    onProgress: rows => say(process.stderr.isTTY ? `\r${rows.toLocaleString('en')} rows read` : ''),
    onBadLine: (line, reason) => say(`\nline ${line} is left out: ${reason}\n`),
  });
  for (const field of ignoredFields) say(`\nfield ${field} is not in ${source} and was ignored`);
  process.stdout.write(`\n${imported} rows imported into ${source}, ${rejected} left out\n`);
}

async function openInput(file: string): Promise<ImportInput> {
  if (file === '-') return { format: 'ndjson', input: process.stdin };
  const handle = await open(file);
  if (!file.endsWith('.parquet')) return { format: 'ndjson', input: handle.createReadStream() };
  await handle.close();
  return { format: 'parquet', file };
}
