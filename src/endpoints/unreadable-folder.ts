import { messageOf } from '../base/errors.ts';

/**
 * The error for a folder of files that can't be listed: most often the command runs in another folder than the project's.
 * @param holding such as `saved queries`
 * @param setting the variable that names the folder
 */
export function unreadableFolder(
  holding: string,
  directory: string,
  setting: 'SQL_DIR' | 'SOURCES_DIR',
  cause: unknown,
): Error {
  return new Error(
    `The folder of ${holding}, ${directory}, can't be read: ${messageOf(cause)}. Commands run in the folder of the project, or with ${setting}`,
    { cause },
  );
}
