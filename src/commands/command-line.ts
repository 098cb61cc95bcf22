import { type ParseArgsConfig, parseArgs } from 'node:util';
import { messageOf } from '../base/errors.ts';
import { didYouMean } from '../base/nearest-name.ts';

/** A command that was typed wrongly. */
export class UsageError extends Error {}

/**
 * Parses the arguments of a command.
 * @throws UsageError for an unknown option
 */
export function parseCommand<const Options extends NonNullable<ParseArgsConfig['options']>>(
  args: string[],
  options: Options,
) {
  try {
    return parseArgs({ args, options, allowPositionals: true });
  } catch (error) {
    const message = messageOf(error);
    // Behind an unknown option Node explains how to write a word that looks like one.
    const [, unknown] = /^Unknown option '--([^']*)'/.exec(message) ?? [];
    if (unknown === undefined) throw new UsageError(message);
    const meant = didYouMean(unknown, Object.keys(options));
    throw new UsageError(`There is no option --${unknown}${meant.replace('mean ', 'mean --')}`);
  }
}

/**
 * Refuses a parameter that a saved query does not take. Over HTTP it would be ignored, but a typed one is a mistake.
 * @throws UsageError
 */
export function refuseUnknown(
  { name, parameters }: { readonly name: string; readonly parameters: readonly { readonly name: string }[] },
  given: readonly string[],
): void {
  const known = parameters.map(parameter => parameter.name);
  const unknown = given.find(each => each !== 'sql' && !known.includes(each));
  if (unknown === undefined) return;
  const allowed = known.length > 0 ? `allowed: ${known.join(', ')}` : 'it takes none';
  throw new UsageError(
    `${name} has no parameter ${JSON.stringify(unknown)}; ${allowed}${didYouMean(unknown, known)}`,
  );
}

/**
 * Parses the values of `--param`, in order.
 * @throws UsageError for a value that is not `<name>=<value>`
 */
export function readAssignments(texts: readonly string[] = []): [name: string, value: string][] {
  return texts.map(text => {
    const at = text.indexOf('=');
    if (at < 1) throw new UsageError(`--param is ${JSON.stringify(text)}; allowed: <name>=<value>`);
    return [text.slice(0, at), text.slice(at + 1)];
  });
}

/**
 * Reads the values of parameters; several for one parameter are a list.
 * @throws UsageError as `readAssignments`
 */
export function readParameters(texts: readonly string[] | undefined): Record<string, string | string[]> {
  return valuesOf(readAssignments(texts));
}

/** The same of values that are read already. */
export function valuesOf(
  assignments: readonly (readonly [name: string, value: string])[],
): Record<string, string | string[]> {
  const values = new Map<string, string | string[]>();
  for (const [name, value] of assignments) {
    const earlier = values.get(name);
    values.set(name, earlier === undefined ? value : [earlier, value].flat());
  }
  return Object.fromEntries(values);
}
