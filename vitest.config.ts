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

/** These replace a module, or register an SDK for the whole process: each in a process of its own. */
const isolated = ['auth/constant-time', 'commands/bigquery-doctor', 'telemetry/traces'].map(
  name => `test/${name}.test.ts`,
);

/** The longest of those that mostly wait, for processes and time-outs: they begin before the others, so that none is left at the end. */
const long = [
  ...['fleet', 'page', 'processes', 'store'].map(folder => `test/${folder}/**/*.test.ts`),
  ...['run-job', 'stale-while-failing'].map(name => `test/bigquery/${name}.test.ts`),
  'test/docs/readme.test.ts',
];

/**
 * These measure times or memory: two files at once on two cores, after all others. The others mostly wait, four files at once; a process runs
 * many files, for loading the modules anew takes as long as most files.
 */
const measuring = [
  ...[
    'failing-engine',
    'fair-shares',
    'heavy-neighbours',
    'idle-connections',
    'pipelining',
    'slow-clients',
  ].map(name => `test/http/${name}.test.ts`),
  'test/bigquery/leaks.test.ts',
  'test/contract/one-deadline.test.ts',
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
      'test/support/pace-waiting.ts',
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
      project('computing', { include: computing }),
      project('isolated', { include: isolated, isolate: true }),
      project('long', { include: long }),
      project('waiting', {
        include: ['test/**/*.test.ts'],
        exclude: [...computing, ...isolated, ...long, ...measuring, ...optional],
      }),
      project('measuring', { include: measuring, maxWorkers: 2, sequence: { groupOrder: 1 } }),
    ],
  },
});

/** The projects of one group begin by the order of their names. */
function project(name: string, test: object) {
  return { ...suite, test: { ...suite.test, name, maxWorkers: 4, isolate: false, ...test } };
}
