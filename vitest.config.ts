import { defineConfig } from 'vitest/config';

// graphql 17 has a `development` export condition that Vite takes while Node does not; with it the package is
// loaded twice and refuses to work with itself.
const conditions = ['node', 'import', 'module', 'default'];

const report = process.env.TEST_REPORT;

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: ['test/**/*.test.ts'],
    // Longer than a suite may take, or in need of more programs: commands of their own, vitest.optional.config.ts.
    exclude: [
      'test/abuse/**',
      'test/chaos/**',
      'test/emulator/**',
      'test/clients/**',
      'test/histories/**',
      'test/proxies/**',
      'test/real-project/**',
    ],
    setupFiles: [
      'test/support/seed-properties.ts',
      'test/support/tell-settings.ts',
      'test/support/wait-patiently.ts',
    ],
    pool: 'forks',
    // CI counts from the runner's own report.
    reporters: report ? ['default', ['json', { outputFile: report }]] : ['default'],
    expect: { poll: { timeout: 20_000, interval: 20 } },
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
