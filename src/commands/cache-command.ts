import type { Config } from '../composition/config.ts';
import { parseCommand, readParameters, UsageError } from './command-line.ts';
import { invalidateFromCommand } from './invalidate-from-command.ts';

/**
 * Runs `cache invalidate`.
 * @throws UsageError; as `invalidateFromCommand`
 */
export async function runCacheCommand(config: Config, args: string[]): Promise<void> {
  const options = { param: { type: 'string', multiple: true }, sql: { type: 'string' } } as const;
  const { values, positionals } = parseCommand(args, options);
  const [action, endpoint, ...rest] = positionals;
  if (action !== 'invalidate' || endpoint === undefined || rest.length > 0) {
    throw new UsageError('cache takes invalidate and the name or UUID of an endpoint');
  }
  const isOneEntry = values.param !== undefined || values.sql !== undefined;
  const parameters = { ...readParameters(values.param), ...(values.sql && { sql: values.sql }) };
  const scope = await invalidateFromCommand(config, endpoint, isOneEntry ? parameters : undefined);
  process.stdout.write(
    scope === 'entry'
      ? `One entry of ${endpoint} is invalidated\n`
      : `All entries of ${endpoint} are invalidated\n`,
  );
}
