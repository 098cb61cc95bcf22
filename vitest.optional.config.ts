import { defineConfig } from 'vitest/config';
import { suite } from './vitest.config.ts';

/** What `npm test` leaves out; name the folder. One file at a time, for some measure. */
export default defineConfig({
  ...suite,
  test: {
    ...suite.test,
    include: [
      'test/{abuse,chaos,clients,deploy,emulator,histories,loading-chaos,logs-day,proxies,real-project}/**/*.test.ts',
    ],
    fileParallelism: false,
  },
});
