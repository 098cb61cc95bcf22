#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { parseEnv } from 'node:util';

// Before the imports below: the second call finds every module compiled.
enableCompileCache();
// What is set in the environment wins over the file.
for (const [name, value] of Object.entries(parseEnv(envFile()))) process.env[name] ??= value;
const { runCommand } = await import('./commands/run-command.ts');
await runCommand(process.argv.slice(2), process.env);

/** The text of `.env`, without the mark U+FEFF that some editors put before it; a folder of that name, as Python's tools make, is none. */
function envFile(): string {
  try {
    return readFileSync('.env', 'utf8').replace(/^\uFEFF/, '');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException; // of the system
    if (code === 'ENOENT' || code === 'EISDIR') return '';
    process.stderr.write(`The file .env can't be read: ${message}\n`);
    process.exit(1);
  }
}
