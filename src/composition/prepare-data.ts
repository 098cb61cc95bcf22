import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { issuedIn } from '../auth/token-record.ts';
import type { Clock } from '../base/clock.ts';
import { replaceFile } from '../base/replace-file.ts';
import { withFileLock } from '../base/with-file-lock.ts';
import { DatabaseBusyError } from '../duckdb/data-folder/database-busy-error.ts';
import { claimFolder, makeDataFolder } from '../duckdb/data-folder/folder-format.ts';
import { type DamagedFile, repairReplicas } from '../duckdb/data-folder/repair-replicas.ts';
import { readCurrent } from '../duckdb/replicas.ts';
import { readLearned } from '../loading/events/learned-fields.ts';
import { updateLayout } from '../loading/update-layout.ts';
import { sampleProjects } from '../sample/vocabulary.ts';
import { writeSampleInChild } from '../sample/write-sample-in-child.ts';
import type { GatewayEvent } from '../telemetry/events.ts';
import { databasePath } from './compose-engine.ts';
import { openCommandTokens } from './compose-tokens.ts';
import type { Config } from './config.ts';
import type { Progress } from './progress-bar.ts';

type PrepareDeps = {
  readonly clock: Clock;
  readonly emit: (event: GatewayEvent) => void;
  readonly onProgress: (progress: Progress) => void;
};

/**
 * Creates what a first start lacks: the data folder, the tables, sample rows up to now, a token. With a warehouse, which has its own
 * tables and rows, only the token.
 * @returns the plain token to accept, if any, whether it was made here, and a project that has rows
 */
export async function prepareData(
  config: Config,
  { clock, emit, onProgress }: PrepareDeps,
): Promise<{ accessToken: string | undefined; isOwnToken: boolean; sampleProject: string }> {
  await makeDataFolder(config.DATA_DIR);
  if (config.ENGINE === 'duckdb') {
    await claimFolder(databasePath(config));
    for (const { file, keptAs } of await repairFolder(databasePath(config), clock.now())) {
      emit({ type: 'database.damaged', file, keptAs });
    }
  }
  const sampleProject =
    config.ENGINE === 'duckdb' ? await updateSample(config, { clock, emit, onProgress }) : '<project>';
  const accessToken = config.ACCESS_TOKEN ?? (await sampleToken(config));
  return { accessToken, isOwnToken: accessToken !== config.ACCESS_TOKEN, sampleProject };
}

/** Repairs the data folder: sets damaged files aside. */
async function repairFolder(path: string, nowMs: number): Promise<DamagedFile[]> {
  const damaged = await repairReplicas(path, nowMs);
  try {
    readLearned(path);
    return damaged;
  } catch (error) {
    const isDamaged = error instanceof Error && error.cause instanceof SyntaxError;
    if (!isDamaged) throw error;
    // Loaded only when needed: it loads DuckDB.
    const { repairLearned } = await import('../loading/events/repair-learned.ts');
    // It reads the tables, so their file must be one that can be opened.
    damaged.push(...(await repairReplicas(path, nowMs, true)));
    return [...damaged, await repairLearned(path, nowMs)];
  }
}

/** Extends the sample of the embedded engine up to now. */
async function updateSample(config: Config, { clock, emit, onProgress }: PrepareDeps): Promise<string> {
  // The gateway itself extends a sample that is in two files.
  if (readCurrent(databasePath(config)).version !== '') {
    await updateLayout(databasePath(config), config.SOURCES_DIR, emit);
    return sampleProjects[0];
  }
  try {
    const task = {
      databasePath: databasePath(config),
      sourcesDirectory: config.SOURCES_DIR,
      rows: config.SAMPLE_ROWS,
      nowMs: clock.now(),
    };
    await writeSampleInChild(task, onProgress);
  } catch (error) {
    // Another gateway uses the same file, which therefore has rows already.
    if (!(error instanceof DatabaseBusyError)) throw error;
    emit({ type: 'sample.skipped', message: error.message });
  }
  return sampleProjects[0];
}

/** The file in the data folder that holds the token of a first start. */
export const sampleTokenName = 'sample-token';

/** The token of a data folder without issued tokens: made once and kept beside the data. */
async function sampleToken(config: Config): Promise<string | undefined> {
  // If the settings provide tokens, none with all rights is made.
  if (config.TOKEN_HASHES || config.LOGFLARE_PRIVATE_ACCESS_TOKEN || config.JWT_ISSUER) return undefined;
  if (await hasIssued(config)) return undefined;
  const file = join(config.DATA_DIR, sampleTokenName);
  return withFileLock(file, async () => {
    const kept = (await readFile(file, 'utf8').catch(() => '')).trim();
    if (kept) return kept;
    const token = `sample_${randomBytes(18).toString('base64url')}`;
    await replaceFile(file, `${token}\n`);
    return token;
  });
}

/** Whether tokens were issued; true while Redis does not answer, so that no other one is accepted. @throws Error if the file of tokens can't be read */
async function hasIssued(config: Config): Promise<boolean> {
  const tokens = await openCommandTokens(config);
  try {
    return issuedIn(await tokens.records.read()).length > 0;
  } catch (error) {
    if (tokens.records.isRemote) return true;
    throw error;
  } finally {
    tokens.close();
  }
}
