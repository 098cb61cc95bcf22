#!/usr/bin/env node
import { existsSync } from 'node:fs';
import { enableCompileCache } from 'node:module';

// Before the imports below: the second call finds every module compiled.
enableCompileCache();
// What is set in the environment wins over the file.
if (existsSync('.env')) process.loadEnvFile('.env');
const { runCommand } = await import('./commands/run-command.ts');
await runCommand(process.argv.slice(2), process.env);
