import { SetupError, type SetupProblem } from '../../base/setup-error.ts';
import { checkDefinition } from '../../endpoints/check-definition.ts';
import type { EndpointDefinition } from '../../endpoints/definition.ts';
import { withoutValue } from '../../endpoints/parameters/read-parameter.ts';
import { createEndpointRegistry } from '../../endpoints/registry.ts';
import type { Engine } from '../../engine/engine.ts';
import type { Check } from './check.ts';

type QueryChecksOptions = {
  /** Folder of the saved queries. */
  readonly directory: string;
  /** The fix to show if the engine does not open and the error has none of its own. */
  readonly fixForEngine: string;
  /** Opens the engine that would run them, and reports its warnings; called once. */
  readonly openEngine: () => Promise<{
    readonly engine: Engine;
    readonly advice: readonly SetupProblem[];
    close(): Promise<void>;
  }>;
  /** Maximum milliseconds of one dry run. */
  readonly timeoutMs: number;
  /** Whether to advise against saved queries that callers can run without time bounds. */
  readonly advisesOnBounds: boolean;
};

/**
 * Checks that the engine opens, that all saved queries are valid, and that it would run them. Each check builds on the previous ones.
 * `close` closes what they opened.
 */
export function queryChecks(options: QueryChecksOptions): {
  readonly checks: readonly Check[];
  close(): Promise<void>;
} {
  const { directory, fixForEngine, openEngine, timeoutMs, advisesOnBounds } = options;
  let engine: Engine | undefined;
  let closeEngine: (() => Promise<void>) | undefined;
  let definitions: readonly EndpointDefinition[] | undefined;
  const opened = () => {
    if (!engine) throw notLookedAt('the engine did not open', 'see to the engine first');
    return engine;
  };
  const checks: Check[] = [
    {
      subject: 'engine',
      fixForFailure: fixForEngine,
      async run() {
        const opening = await openEngine();
        ({ engine, close: closeEngine } = opening);
        return { isFine: true, found: 'opens', advice: opening.advice };
      },
    },
    {
      subject: 'saved queries',
      fixForFailure: 'correct the files at the lines that are named; SQL_DIR says where they are',
      async run() {
        const over = opened();
        const check = (definition: EndpointDefinition) => checkDefinition(over, definition);
        const emit = () => undefined;
        const registry = await createEndpointRegistry({ directory, check, emit, watch: false });
        definitions = registry.all();
        registry.close();
        const fix =
          'correct the files at the lines that are named; a start leaves them out, and serves all others';
        const problems = registry.broken.map(({ message: found }) => ({ found, fix }));
        if (problems.length > 0) return { isFine: false, problems };
        const names = definitions.map(({ name }) => name).join(', ');
        return { isFine: true, found: `${definitions.length} valid: ${names}` };
      },
    },
    {
      subject: 'dry runs',
      fixForFailure: 'see that the sources are there, and that the credentials may read them and run queries',
      async run() {
        if (!definitions)
          throw notLookedAt('the saved queries were not read', 'see to what is wrong before it');
        const found: string[] = [];
        for (const definition of definitions) found.push(await dryRun(opened(), definition, timeoutMs));
        const advice = advisesOnBounds ? definitions.flatMap(adviceOnBounds) : [];
        return { isFine: true, found: found.join('; '), advice };
      },
    },
  ];
  return { checks, close: async () => closeEngine?.() };
}

function notLookedAt(why: string, fix: string): SetupError {
  return new SetupError('Not looked at', [{ found: `not looked at: ${why}`, fix }]);
}

/** If time parameters may be absent and there is no window, a query reads all rows. */
function adviceOnBounds({ name, parameters, window, maxBytesBilled }: EndpointDefinition): SetupProblem[] {
  const open = parameters.filter(
    ({ type, required, default: given }) =>
      (type === 'timestamp' || type === 'TIMESTAMP') && !required && given === undefined,
  );
  if (open.length === 0 || window || maxBytesBilled !== undefined) return [];
  const names = open.map(parameter => parameter.name).join(' and ');
  return [
    {
      found: `${name} reads whole tables where a request leaves out ${names}; only BIGQUERY_MAX_BYTES_BILLED bounds what that costs`,
      fix: `give ${name} a window or maxBytesBilled in its header, or tokens a limit of bytes: docs/saved-queries.md`,
    },
  ];
}

/** Dry-runs one saved query without values for its parameters: what it would read. */
async function dryRun(
  engine: Engine,
  { name, sql, maxRows, parameters, window }: EndpointDefinition,
  timeoutMs: number,
): Promise<string> {
  const statement = { endpoint: name, sql, maxRows, parameters: parameters.map(withoutValue), window };
  const signal = new AbortController().signal;
  const { sources, estimatedBytes } = await engine.explain(statement, { signal, timeoutMs });
  const bytes = estimatedBytes === undefined ? '' : `${estimatedBytes} bytes of `;
  return `${name} reads ${bytes}${sources.join(', ') || 'no source'}`;
}
