import { databasePath } from '../composition/compose-engine.ts';
import type { Config } from '../composition/config.ts';
import { backUp, restore } from '../loading/back-up.ts';
import { parseCommand, UsageError } from './command-line.ts';

const usage = `sqg backup <folder>                   copy the rows of the embedded engine, while gateways run
sqg backup restore <folder>           put such a copy into an empty DATA_DIR, while none runs`;

/**
 * Runs `sqg backup`.
 * @throws UsageError; as `backUp` and `restore`
 */
export async function runBackupCommand(config: Config, args: string[]): Promise<void> {
  const { values, positionals } = parseCommand(args, { help: { type: 'boolean' } });
  if (values.help) return void process.stdout.write(`${usage}\n`);
  const isRestore = positionals[0] === 'restore';
  const [folder, ...rest] = isRestore ? positionals.slice(1) : positionals;
  if (folder === undefined || rest.length > 0) throw new UsageError('backup takes a folder');
  const act = isRestore ? restore : backUp;
  await act(databasePath(config), folder);
  process.stdout.write(isRestore ? `${folder} is in ${config.DATA_DIR}\n` : `The rows are in ${folder}\n`);
}
