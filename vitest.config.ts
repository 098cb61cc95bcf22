import { defineConfig } from 'vitest/config';

// graphql 17 has a `development` export condition that Vite takes while Node does not; with it the package is
// loaded twice and refuses to work with itself.
const conditions = ['node', 'import', 'module-sync', 'default'];

const report = process.env.TEST_REPORT;

/** Longer than a suite may take, or in need of more programs: commands of their own, vitest.optional.config.ts. */
const optional = [
  'abuse',
  'chaos',
  'clients',
  'deploy',
  'emulator',
  'histories',
  'loading-chaos',
  'proxies',
  'real-project',
].map(folder => `test/${folder}/**`);

/** These only compute: two files at once. */
const computing = ['batch', 'google-suites', 'googlesql', 'oracle', 'redaction', 'sample', 'sandbox'].map(
  folder => `test/${folder}/**/*.test.ts`,
);

/**
 * These measure times, start many processes, replace a module, or register an SDK for the whole process: one file at a time, each
 * in a process of its own. The others mostly wait, two files at once; a process runs many files, for loading the modules anew takes
 * as long as most files.
 */
const alone = [
  ...['fleet', 'http', 'processes', 'store'].map(folder => `test/${folder}/**/*.test.ts`),
  ...['leaks', 'run-job', 'stale-while-failing'].map(name => `test/bigquery/${name}.test.ts`),
  ...['constant-time', 'parallel-commands'].map(name => `test/auth/${name}.test.ts`),
  'test/commands/bigquery-doctor.test.ts',
  'test/contract/one-deadline.test.ts',
  'test/graphql/operation-limits.test.ts',
  'test/telemetry/traces.test.ts',
  'test/page/explorer.test.ts',
  'test/page/faults.test.ts',
];

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
      project('computing', {
        include: computing,
        maxWorkers: 2,
        isolate: false,
        sequence: { groupOrder: 0 },
      }),
      project('waiting', {
        include: ['test/**/*.test.ts'],
        exclude: [...computing, ...alone, ...optional],
        maxWorkers: 2,
        isolate: false,
        sequence: { groupOrder: 1 },
      }),
      project('alone', { include: alone, maxWorkers: 1, sequence: { groupOrder: 2 } }),
    ],
  },
});

function project(name: string, test: object) {
  return { ...suite, test: { ...suite.test, name, ...test } };
}
