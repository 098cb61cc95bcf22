import { parseCommand, readAssignments, UsageError } from '../command-line.ts';

/** Options of the command; anything else that begins with two hyphens is a parameter of the saved query. */
const options = {
  param: { type: 'string', multiple: true },
  sql: { type: 'string' },
  format: { type: 'string' },
  watch: { type: 'boolean' },
  every: { type: 'string' },
  url: { type: 'string' },
  token: { type: 'string' },
  profile: { type: 'string' },
  help: { type: 'boolean' },
} as const;

/** The parsed arguments of `query`. */
export type QueryArguments = {
  readonly endpoint: string;
  /** Parameters of the saved query, and `sql`. */
  readonly parameters: readonly (readonly [string, string])[];
  readonly format: string | undefined;
  /** Seconds between two runs; undefined: one run. */
  readonly everySeconds: number | undefined;
  readonly url: string | undefined;
  readonly token: string | undefined;
  readonly profile: string | undefined;
};

const defaultEverySeconds = 5;

/**
 * Parses the arguments of `query`: `--project abc` sets the parameter `project`, as does `--param project=abc`.
 * @throws UsageError
 */
export function readQueryArguments(args: readonly string[]): QueryArguments {
  const own: string[] = [];
  const parameters: [string, string][] = [];
  for (let at = 0; at < args.length; at++) {
    const argument = args[at]!;
    const [, name = '', , value = args[at + 1]] = /^--([^=]+)(=(.*))?$/s.exec(argument) ?? [];
    if (name === '' || Object.hasOwn(options, name)) {
      const isSeparate = name !== '' && !argument.includes('=') && takesValue(name);
      if (isSeparate && value === undefined) throw new UsageError(`--${name} has no value`);
      // The value of an option may begin with hyphens, as SQL with a comment does.
      own.push(isSeparate ? `${argument}=${args[++at]}` : argument);
    } else {
      if (value === undefined) throw new UsageError(`--${name} has no value`);
      parameters.push([name, value]);
      if (!argument.includes('=')) at++;
    }
  }
  const { values, positionals } = parseCommand(own, options);
  const [endpoint, ...rest] = positionals;
  if (endpoint === undefined || rest.length > 0) {
    throw new UsageError('query takes the name or UUID of one saved query');
  }
  parameters.push(...readAssignments(values.param));
  if (values.sql) parameters.push(['sql', values.sql]);
  const { format, url, token, profile } = values;
  return { endpoint, parameters, format, everySeconds: readEvery(values), url, token, profile };
}

const takesValue = (name: string) => options[name as keyof typeof options].type === 'string';

/** @throws UsageError */
function readEvery(values: { readonly watch?: boolean; readonly every?: string }): number | undefined {
  if (!values.watch && values.every === undefined) return undefined;
  const seconds = Number(values.every ?? defaultEverySeconds);
  if (seconds >= 1 && seconds <= 86_400) return seconds;
  throw new UsageError(`--every is ${JSON.stringify(values.every)}; allowed: 1 to 86400 seconds`);
}
