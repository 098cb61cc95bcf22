const doors = ['http', 'graphql'];
const rooms = name => `^src/${name}/`;

/** The arrows of ARCHITECTURE.md: they point down, and only the composition root names adapters. */
module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      comment: 'Two files that need each other are one thing, or a third thing is missing between them.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'doors-do-not-see-each-other',
      comment: 'What both doors need belongs to pipeline/ or to the ground (src/*.ts).',
      severity: 'error',
      from: { path: `^src/(${doors.join('|')})/` },
      to: { path: `^src/(${doors.join('|')})/`, pathNot: '^src/$1/' },
    },
    {
      name: 'nothing-below-sees-a-door',
      comment: 'Only the composition root opens doors. Pass what you need down as an argument.',
      severity: 'error',
      from: { path: '^src/[^/]+/', pathNot: `^src/(${doors.join('|')})/` },
      to: { path: `^src/(${doors.join('|')})/` },
    },
    {
      name: 'only-the-root-names-adapters',
      comment: 'Use the port (engine/engine.ts, store/store.ts); the composition root passes the adapter in.',
      severity: 'error',
      from: {
        path: '^src/',
        pathNot: '^src/(composition-root|compose-engine|compose-warming|invalidate-from-command|gateway|cli|events)\\.ts$|^src/(duckdb|sample|bigquery)/|^src/store/',
      },
      to: {
        path: '^src/(duckdb|sample|bigquery)/|^src/(store|warming)/(memory|redis)-(store|schedule)\\.ts$',
        // How a setting is written; it knows no BigQuery.
        pathNot: '^src/bigquery/table-mapping\\.ts$',
      },
    },
    {
      name: 'adapters-do-not-see-each-other',
      comment: 'BigQuery and DuckDB share the port and the shapes of the sources, nothing else.',
      severity: 'error',
      from: { path: '^src/bigquery/' },
      to: { path: '^src/(duckdb|sample)/', pathNot: '^src/duckdb/sources\\.ts$' },
    },
    {
      name: 'the-cache-knows-no-request',
      comment: 'The cache answers keys; who asks, and what for, is for pipeline/ to say.',
      severity: 'error',
      from: { path: rooms('cache') },
      to: { path: '^src/(pipeline|auth|redaction|endpoints)/', pathNot: '^src/endpoints/definition\\.ts$' },
    },
    {
      name: 'googlesql-stands-alone',
      comment: 'The front-end is pure: text in, statement out. It knows errors and rows, nothing else of ours.',
      severity: 'error',
      from: { path: rooms('googlesql') },
      to: { path: '^src/', pathNot: '^src/googlesql/|^src/(errors|rows)\\.ts$' },
    },
    {
      name: 'ground-carries-no-room',
      comment: 'errors, rows, clock and exchange are what every room stands on; they import none.',
      severity: 'error',
      from: { path: '^src/(errors|rows|clock|exchange)\\.ts$' },
      to: { path: '^src/', pathNot: '^src/(errors|rows|clock|exchange)\\.ts$' },
    },
    {
      name: 'no-index-files',
      comment: 'Import from the file that defines.',
      severity: 'error',
      from: {},
      to: { path: '^(src|test)/.*/?(index|utils|common|helpers)\\.ts$' },
    },
    {
      name: 'source-does-not-see-tests',
      comment: 'What tests share with the product belongs to the product.',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^(test|bench)/' },
    },
    {
      name: 'no-development-packages',
      comment: 'The product runs on `dependencies`; move the package or the code.',
      severity: 'error',
      from: { path: '^src/' },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'unknown', 'undetermined'] },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    parser: 'swc',
    detectProcessBuiltinModuleCalls: true,
  },
};
