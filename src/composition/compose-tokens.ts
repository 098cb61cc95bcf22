import { join } from 'node:path';
import { tokenFile } from '../auth/token-file.ts';
import type { TokenRecords } from '../auth/token-record.ts';
import type { Config } from './config.ts';

/** The records of issued tokens, where the settings say they are kept. */
export function openTokenRecords(config: Pick<Config, 'DATA_DIR' | 'TOKENS_FILE'>): TokenRecords {
  return tokenFile(config.TOKENS_FILE ?? join(config.DATA_DIR, 'tokens.json'));
}
