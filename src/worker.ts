import { enableCompileCache } from 'node:module';

// Before the imports below: the second start finds every module compiled.
enableCompileCache();
const { startWorker } = await import('./composition/start-worker.ts');
await startWorker(process.env);
