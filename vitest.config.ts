import { defineConfig } from 'vitest/config';

// graphql 17 has a `development` export condition that Vite takes while Node does not; with it the package is
// loaded twice and refuses to work with itself.
const conditions = ['node', 'import', 'module-sync', 'default'];

const report = process.env.TEST_REPORT;

/** Longer than a suite may take, or in need of more programs: commands of their own, vitest.optional.config.ts. */
const optional = ['abuse', 'chaos', 'clients', 'emulator', 'histories', 'proxies', 'real-project'].map(
  folder => `test/${folder}/**`,
);

/** These only compute: two files at once. The others start processes and wait for clocks: one at a time. */
const computing = ['batch', 'google-suites', 'googlesql', 'oracle', 'redaction', 'sample', 'sandbox'].map(
  folder => `test/${folder}/**/*.test.ts`,
);

/** What all suites have alike. */
export const suite = {
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    setupFiles: [
      'test/support/seed-properties.ts',
      'test/support/print-drawn-settings.ts',
      'test/support/extend-wait-for.ts',
    ],
    pool: 'forks' as const,
    expect: { poll: { timeout: 20_000, interval: 20 } },
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
};

export default defineConfig({
  test: {
    // CI counts from the runner's own report.
    reporters: report ? ['default', ['json', { outputFile: report }]] : ['default'],
    projects: [
      project('computing', { include: computing, maxWorkers: 2, sequence: { groupOrder: 0 } }),
      project('waiting', {
        include: ['test/**/*.test.ts'],
        exclude: [...computing, ...optional],
        maxWorkers: 1,
        sequence: { groupOrder: 1 },
      }),
    ],
  },
});

function project(name: string, test: object) {
  return { ...suite, test: { ...suite.test, name, ...test } };
}
