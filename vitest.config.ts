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
  'logs-day',
  'proxies',
  'real-project',
].map(folder => `test/${folder}/**`);

/** These only compute, many files in a process. */
const computing = ['batch', 'google-suites', 'googlesql', 'oracle', 'redaction', 'sample', 'sandbox'].map(
  folder => `test/${folder}/**/*.test.ts`,
);

/** These start processes and wait for them, replace a module, or register an SDK for the whole process: each in a process of its own. */
const processes = [
  ...['fleet', 'page', 'processes', 'store'].map(folder => `test/${folder}/**/*.test.ts`),
  ...['run-job', 'stale-while-failing'].map(name => `test/bigquery/${name}.test.ts`),
  'test/commands/bigquery-doctor.test.ts',
  'test/docs/readme.test.ts',
  'test/telemetry/traces.test.ts',
];

/**
 * These measure times or memory: one file at a time. The others mostly wait, three files at once on two cores; a process runs many
 * files, for loading the modules anew takes as long as most files.
 */
const alone = [
  ...[
    'failing-engine',
    'fair-shares',
    'heavy-neighbours',
    'idle-connections',
    'pipelining',
    'slow-clients',
  ].map(name => `test/http/${name}.test.ts`),
  'test/bigquery/leaks.test.ts',
  ...['constant-time', 'parallel-commands'].map(name => `test/auth/${name}.test.ts`),
  'test/contract/one-deadline.test.ts',
  // A Redis that answers after 50 ms is none, and each gateway runs its own query.
  'test/fleet/dying-holder.test.ts',
  'test/fleet/large-entries.test.ts',
];

/** What all suites have alike. */
export const suite = {
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    setupFiles: [
      'test/support/compile-cache.ts',
      'test/support/seed-properties.ts',
      'test/support/print-drawn-settings.ts',
      'test/support/extend-wait-for.ts',
    ],
    pool: 'forks' as const,
    // Long enough for a machine that is ten times slower: what holds is seen at once, and no test means them as a claim about speed.
    expect: { poll: { timeout: 60_000, interval: 20 } },
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
};

export default defineConfig({
  test: {
    // CI counts from the runner's own report.
    reporters: report ? ['default', ['json', { outputFile: report }]] : ['default'],
    projects: [
      project('computing', { include: computing, maxWorkers: 3, isolate: false }),
      project('processes', { include: processes, exclude: alone, maxWorkers: 3 }),
      project('waiting', {
        include: ['test/**/*.test.ts'],
        exclude: [...computing, ...processes, ...alone, ...optional],
        maxWorkers: 3,
        isolate: false,
      }),
      project('alone', { include: alone, maxWorkers: 1, sequence: { groupOrder: 1 } }),
    ],
  },
});

function project(name: string, test: object) {
  return { ...suite, test: { ...suite.test, name, ...test } };
}
