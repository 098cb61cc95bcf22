import { readFile, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { GatewayError } from '../../base/errors.ts';
import { didYouMean } from '../../base/nearest-name.ts';
import { UsageError } from '../command-line.ts';

/** A gateway that a user asks, under a name of the user's own. */
export type Profile = { readonly url: string; readonly token?: string | undefined };

const fileSchema = z.strictObject({
  /** The profile that is taken where none is named. */
  profile: z.string().optional(),
  profiles: z.record(z.string(), z.strictObject({ url: z.string(), token: z.string().optional() })),
});

/** The user's file of profiles. Source: XDG Base Directory Specification. */
export function profilesFile(environment: NodeJS.ProcessEnv): string {
  const folder = environment.XDG_CONFIG_HOME || join(environment.HOME || homedir(), '.config');
  return join(folder, 'sqg', 'config.yaml');
}

/**
 * Reads the profile that is asked for by name, or else the one that the file names.
 * @param name as `--profile` or `SQG_PROFILE` has it
 * @param note tells the user what is wrong but stops nothing
 * @returns undefined if there is no file, or if it names none
 * @throws UsageError for a name that the file does not have; GatewayError `invalid_request` for a file that can't be read, or is of another form
 */
export async function readProfile(
  environment: NodeJS.ProcessEnv,
  name: string | undefined,
  note: (line: string) => void,
): Promise<Profile | undefined> {
  const file = profilesFile(environment);
  const text = await readFile(file, 'utf8').catch(error => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined;
    // It may name the gateway that is meant: without it the rows would be those of another.
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
    // Its lines may hold tokens: the place is named, the text is not.
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
