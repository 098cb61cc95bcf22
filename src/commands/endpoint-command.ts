import type { Clock } from '../base/clock.ts';
import { didYouMean } from '../base/nearest-name.ts';
import { statementOf } from '../batch/run-queries.ts';
import type { Config } from '../composition/config.ts';
import { checkDefinition } from '../endpoints/check-definition.ts';
import type { DefinitionError } from '../endpoints/parse-definition.ts';
import { createEndpointRegistry, type EndpointRegistry } from '../endpoints/registry.ts';
import { readSourceFolder } from '../endpoints/sources.ts';
import type { Engine } from '../engine/engine.ts';
import { bindQuery } from '../pipeline/bind-parameters.ts';
import { findEndpoint } from '../pipeline/plan-request.ts';
import { openCheckingEngine } from './checks/open-checking-engine.ts';
import { parseCommand, readParameters, refuseUnknown, UsageError } from './command-line.ts';
import { testEndpoints } from './endpoint-tests.ts';
import { writeNewEndpoint } from './new-endpoint.ts';
import { printableLines } from './printable.ts';

const endpointUsage = `npm run endpoint -- new <name> --from <source>    write a saved query that shows a source's columns
npm run endpoint -- lint                          check all saved queries against the engine
npm run endpoint -- test [<name> …]               run the tests of <name>.test.yaml
npm run endpoint -- explain <name> [--param <name>=<value>] [--sql <query>]
                                                  what a query would read, without running it
`;

type Deps = { readonly clock: Clock; readonly print: (line: string) => void };

/**
 * Runs `npm run endpoint`: writes, checks, explains and tests saved queries.
 * @returns whether all is fine; if not, the exit code is 1
 * @throws UsageError, and errors of the parts
 */
export async function runEndpointCommand(config: Config, deps: Deps, args: string[]): Promise<boolean> {
  const { values, positionals } = parseCommand(args, {
    from: { type: 'string' },
    param: { type: 'string', multiple: true },
    sql: { type: 'string' },
    json: { type: 'boolean' },
    help: { type: 'boolean' },
  });
  const [action, ...names] = positionals;
  if (values.help) return say(deps, endpointUsage.trimEnd());
  const print = (found: object, line: string) =>
    deps.print(values.json ? JSON.stringify(found) : printableLines(line));
  switch (action) {
    case 'new': {
      const [name, ...more] = names;
      const source = readSourceFolder(config.SOURCES_DIR).sources.find(
        ({ name: own }) => own === values.from,
      );
      if (!name || more.length > 0) throw new UsageError('endpoint new takes the name of the saved query');
      if (!source) throw new UsageError(missingSource(config, values.from ?? ''));
      const path = await writeNewEndpoint(config.SQL_DIR, name, source);
      print({ written: path }, `${path} is written. Next: npm run endpoint -- lint`);
      return true;
    }
    case 'lint':
      if (names.length > 0) throw new UsageError('endpoint lint takes no names: it checks all saved queries');
      return withEngine(config, deps, engine => lint(config, print, engine));
    case 'explain': {
      const [name, ...more] = names;
      if (!name || more.length > 0) throw new UsageError('endpoint explain takes the name of a saved query');
      const raw = { ...readParameters(values.param), sql: values.sql };
      return withEngine(config, deps, async engine => {
        const registry = await openRegistry(config, engine);
        const broken = registry.broken.find(({ file }) => file === `${name}.sql`);
        if (broken) throw broken;
        const definition = findEndpoint(registry, name);
        refuseUnknown(definition, Object.keys(raw));
        const query = bindQuery(definition, raw, undefined);
        const signal = new AbortController().signal;
        const explained = await engine.explain(statementOf(query), {
          signal,
          timeoutMs: config.QUERY_TIMEOUT_MS,
        });
        const { sources, columns, estimatedBytes } = explained;
        const shown = columns.map(column => `${column.name} ${column.type}`).join(', ');
        const bytes = estimatedBytes === undefined ? '' : `${estimatedBytes} bytes of `;
        print(explained, `${name} reads ${bytes}${sources.join(', ') || 'no source'}\nand gives ${shown}`);
        return true;
      });
    }
    case 'test': {
      const outcomes = await testEndpoints(config, names);
      for (const outcome of outcomes) {
        const { endpoint, name, problem } = outcome;
        print(
          outcome,
          `${problem === undefined ? 'ok    ' : 'FAILED'} ${endpoint}: ${name}${problem === undefined ? '' : `\n       ${problem}`}`,
        );
      }
      return outcomes.every(({ problem }) => problem === undefined);
    }
    default:
      throw new UsageError('endpoint takes new, lint, explain or test');
  }
}

function missingSource({ SOURCES_DIR }: Config, name: string): string {
  const known = readSourceFolder(SOURCES_DIR).sources.map(source => source.name);
  return `--from is ${JSON.stringify(name)}; allowed: the name of a source${didYouMean(name, known)}`;
}

/** Prints the problems of each file, and which saved queries are valid. */
async function lint(
  config: Config,
  print: (found: object, line: string) => void,
  engine: Engine,
): Promise<boolean> {
  const printBroken = ({ file, problems, message }: DefinitionError) =>
    print({ broken: file, problems }, message);
  const sources = readSourceFolder(config.SOURCES_DIR);
  sources.broken.forEach(printBroken);
  const registry = await openRegistry(config, engine);
  registry.broken.forEach(printBroken);
  const found = registry.all().map(({ name }) => name);
  print({ valid: found }, `${found.length} saved queries are valid: ${found.join(', ')}`);
  return sources.broken.length + registry.broken.length === 0;
}

function say({ print }: Deps, text: string): true {
  print(text);
  return true;
}

async function withEngine(
  config: Config,
  { clock }: Deps,
  use: (engine: Engine) => Promise<boolean>,
): Promise<boolean> {
  const { engine, close } = await openCheckingEngine(config, { clock, emit: () => undefined });
  try {
    return await use(engine);
  } finally {
    await close();
  }
}

function openRegistry(config: Config, engine: Engine): Promise<EndpointRegistry> {
  return createEndpointRegistry({
    directory: config.SQL_DIR,
    check: definition => checkDefinition(engine, definition),
    emit: () => undefined,
    watch: false,
  });
}
