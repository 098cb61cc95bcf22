import { enableCompileCache } from 'node:module';

// Before the imports below: the second start finds every module compiled.
enableCompileCache();
const { startGateway } = await import('./composition/start-gateway.ts');
await startGateway(process.env);
