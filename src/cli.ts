import { enableCompileCache } from 'node:module';

// Before the imports below: the second call finds every module compiled.
enableCompileCache();
const { runCommand } = await import('./commands/run-command.ts');
await runCommand(process.argv.slice(2), process.env);
