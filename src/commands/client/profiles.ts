import { readFile, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { GatewayError } from '../../base/errors.ts';
import { didYouMean } from '../../base/nearest-name.ts';
import { UsageError } from '../command-line.ts';

/** A gateway, to which a user has given a name. */
export type Profile = { readonly url: string; readonly token?: string | undefined };

const fileSchema = z.strictObject({
  /** The default profile. */
  profile: z.string().optional(),
  profiles: z.record(z.string(), z.strictObject({ url: z.string(), token: z.string().optional() })),
});

/** The user's file of profiles. Source: XDG Base Directory Specification. */
export function profilesFile(environment: NodeJS.ProcessEnv): string {
  const folder = environment.XDG_CONFIG_HOME || join(environment.HOME || homedir(), '.config');
  return join(folder, 'sqg', 'config.yaml');
}

/**
 * Reads the profile of this name, or else the file's default.
 * @param name from `--profile` or `SQG_PROFILE`
 * @param note prints a warning
 * @returns undefined if there is no file, or it has no default
 * @throws UsageError for a name that is not in the file; GatewayError `invalid_request` for a file that can't be read or parsed
 */
export async function readProfile(
  environment: NodeJS.ProcessEnv,
  name: string | undefined,
  note: (line: string) => void,
): Promise<Profile | undefined> {
  const file = profilesFile(environment);
  const text = await readFile(file, 'utf8').catch(error => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined;
    // The file may name the gateway to use: without it, the rows would be those of another one.
    throw new GatewayError('invalid_request', `${file} can not be read: ${error.message}`);
  });
  if (text === undefined) {
    if (name === undefined) return undefined;
    throw new UsageError(`There is no profile ${JSON.stringify(name)}: ${file} does not exist`);
  }
  const { profile, profiles } = parseProfiles(file, text);
  const wanted = name ?? profile;
  if (wanted === undefined) return undefined;
  const found = Object.hasOwn(profiles, wanted) ? profiles[wanted] : undefined;
  if (!found) {
    const names = Object.keys(profiles);
    throw new UsageError(
      `${file} has no profile ${JSON.stringify(wanted)}; allowed: ${names.join(', ')}${didYouMean(wanted, names)}`,
    );
  }
  if (found.token && (await isOpenToOthers(file))) note(`Other users can read ${file}: chmod 600 ${file}`);
  return found;
}

function parseProfiles(file: string, text: string): z.infer<typeof fileSchema> {
  try {
    return fileSchema.parse(parse(text) ?? {});
  } catch (error) {
    // Its lines may contain tokens: the message has the position, not the text.
    const why =
      error instanceof z.ZodError
        ? error.issues.map(({ path, message }) => `${path.join('.') || 'file'}: ${message}`).join('; ')
        : 'it is not YAML';
    throw new GatewayError('invalid_request', `${file} can not be read: ${why}`);
  }
}

async function isOpenToOthers(file: string): Promise<boolean> {
  return process.platform !== 'win32' && ((await stat(file)).mode & 0o077) !== 0;
}
