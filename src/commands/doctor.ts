import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { SetupProblem } from '../base/setup-error.ts';
import { databasePath } from '../composition/compose-engine.ts';
import { openCommandTokens } from '../composition/compose-tokens.ts';
import type { Config } from '../composition/config.ts';
import { sampleTokenName } from '../composition/prepare-data.ts';
import { readSourceFolder } from '../endpoints/sources.ts';
import { readOperationList } from '../graphql/operation-list.ts';
import type { GatewayEvent } from '../telemetry/events.ts';
import { type Check, linesOf, runChecks } from './checks/check.ts';
import { diskCheck } from './checks/disk-check.ts';
import { openCheckingEngine } from './checks/open-checking-engine.ts';
import { queryChecks } from './checks/query-checks.ts';
import { redisCheck } from './checks/redis-check.ts';
import { tokenCheck } from './checks/token-check.ts';

type DoctorOptions = {
  readonly clock: Clock;
  /** Prints one line, given without its line break. */
  readonly print: (line: string) => void;
  /** Prints one line of JSON, `{"isFine", "checks": [{"subject", "isFine", …}]}`. Default: lines for people. */
  readonly json?: boolean | undefined;
};

/**
 * Checks everything that a gateway of this configuration needs, and prints what is wrong and how to fix it.
 * Changes nothing.
 * @returns whether all is fine
 */
export async function runDoctor(
  config: Config,
  { clock, print, json = false }: DoctorOptions,
): Promise<boolean> {
  const queries = queryChecks({
    directory: config.SQL_DIR,
    openEngine: async () => {
      const advice: SetupProblem[] = [];
      const emit = (event: GatewayEvent) => {
        if (event.type === 'warehouse.warned') advice.push(event);
      };
      const opened = await openCheckingEngine(config, { clock, emit, isThorough: true });
      if (opened.isEmpty) {
        const found = `there is no database in ${config.DATA_DIR} yet: the saved queries are checked on empty tables`;
        advice.unshift({
          found,
          fix: 'npm start makes it; if there should be one, DATA_DIR names another folder',
        });
      }
      return { engine: opened.engine, advice, close: opened.close };
    },
    fixForEngine: fixesForEngine[config.ENGINE],
    timeoutMs: config.QUERY_TIMEOUT_MS,
    // The embedded engine has no cost per byte.
    advisesOnBounds: config.ENGINE === 'bigquery',
  });
  const issued = await openCommandTokens(config);
  const tokens = tokenCheck({
    records: issued.records,
    sampleTokenFile: join(config.DATA_DIR, sampleTokenName),
    isOneGiven: [
      config.ACCESS_TOKEN,
      config.TOKEN_HASHES,
      config.JWT_ISSUER,
      config.LOGFLARE_PRIVATE_ACCESS_TOKEN,
    ].some(given => given !== undefined),
    clock,
  });
  // A warehouse needs no disk space here.
  const { ENGINE, DATA_DIR: directory, ENGINE_MEMORY_MB: engineMemoryMb } = config;
  const disk =
    ENGINE === 'duckdb' ? [diskCheck({ directory, databasePath: databasePath(config), engineMemoryMb })] : [];
  try {
    const checks = [
      storeCheck(config),
      tokens,
      ...disk,
      ...sourceChecks(config),
      ...queries.checks,
      ...operationsChecks(config),
    ];
    if (!json) {
      return await runChecks(checks, (subject, finding) => linesOf(subject, finding).forEach(print));
    }
    const found: object[] = [];
    const isFine = await runChecks(checks, (subject, finding) => found.push({ subject, ...finding }));
    print(JSON.stringify({ isFine, checks: found }));
    return isFine;
  } finally {
    issued.close();
    await queries.close();
  }
}

const fixesForEngine = {
  duckdb: 'npm start makes the data of the embedded engine; ENGINE and DATA_DIR say what is opened',
  bigquery: 'docs/bigquery.md says what the variables BIGQUERY_… are to hold',
} as const;

/** Checks the list of GraphQL documents, if there is one. */
function operationsChecks({ GRAPHQL_OPERATIONS_FILE: file }: Config): Check[] {
  if (file === undefined) return [];
  const run = async () => {
    const { size } = await readOperationList(file);
    return { isFine: true, found: `${size} in ${file}: no others are executed` } as const;
  };
  const fixForFailure = 'npm run operations -- <folder> <file> writes it, for GRAPHQL_OPERATIONS_FILE';
  return [{ subject: 'GraphQL documents', fixForFailure, run }];
}

/** Checks for broken files of sources only: the others are checked with the saved queries that read them. */
function sourceChecks({ SOURCES_DIR }: Config): Check[] {
  const problems = sourceProblems(SOURCES_DIR);
  if (problems.length === 0) return [];
  return [{ subject: 'sources', fixForFailure: '', run: async () => ({ isFine: false, problems }) }];
}

function sourceProblems(directory: string): SetupProblem[] {
  const fix =
    'correct the file at the lines that are named; a start leaves the source out, and what reads it';
  try {
    return readSourceFolder(directory).broken.map(({ message: found }) => ({ found, fix }));
  } catch (error) {
    return [
      {
        found: messageOf(error),
        fix: 'SOURCES_DIR says where they are',
      },
    ];
  }
}

function storeCheck({ REDIS_URL, TOKENS_STORE }: Config): Check {
  if (REDIS_URL) return redisCheck(REDIS_URL, { holdsTokens: TOKENS_STORE === 'redis' });
  const found = 'REDIS_URL is not set: each gateway has a cache of its own';
  return { subject: 'Redis', fixForFailure: '', run: async () => ({ isFine: true, found }) };
}
