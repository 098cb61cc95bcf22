const handlers = ['http', 'graphql', 'mcp'];
const room = name => `^src/${name}/`;
const only = (...names) => `^src/(${names.join('|')})/`;

/** One floor of a room: what it may import of its own room. */
const floor = (name, path, below, comment) => ({
  name,
  comment,
  severity: 'error',
  from: { path: `^src/${path}/` },
  to: { path: `^src/${path.split('/')[0]}/`, pathNot: [path, ...below].map(own => `^src/${own}/`).join('|') },
});

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
      name: 'handlers-do-not-see-each-other',
      comment: 'What several handlers need belongs to pipeline/, to http-messages/ or to base/.',
      severity: 'error',
      from: { path: `^src/(${handlers.join('|')})/` },
      to: { path: `^src/(${handlers.join('|')})/`, pathNot: '^src/$1/' },
    },
    {
      name: 'nothing-below-sees-a-handler',
      comment: 'Only the composition root makes handlers. Pass what you need down as an argument.',
      severity: 'error',
      from: { path: '^src/[^/]+/', pathNot: only(...handlers, 'composition', 'commands') },
      to: { path: `^src/(${handlers.join('|')})/` },
    },
    {
      name: 'nothing-below-sees-the-top',
      comment: 'Settings and wiring are passed down as arguments; only the three entry files and commands start from the top.',
      severity: 'error',
      from: { path: '^src/[^/]+/', pathNot: only('composition', 'commands') },
      to: { path: '^src/[^/]+\\.ts$|^src/(composition|commands)/' },
    },
    {
      name: 'only-the-top-names-adapters',
      comment: 'Use the port (engine/engine.ts, store/store.ts); the composition root passes the adapter in.',
      severity: 'error',
      from: {
        path: '^src/',
        pathNot: '^src/(composition|commands|duckdb|sample|loading|bigquery|store)/|^src/telemetry/events\\.ts$',
      },
      to: {
        path: '^src/(duckdb|sample|bigquery)/|^src/(store|warming)/(memory|redis)-(store|schedule)\\.ts$',
      },
    },
    {
      name: 'adapters-do-not-see-each-other',
      comment: 'BigQuery and DuckDB share the port and the shapes of the sources, nothing else.',
      severity: 'error',
      from: { path: room('bigquery') },
      to: { path: only('duckdb', 'sample', 'loading') },
    },
    {
      name: 'the-cache-knows-no-request',
      comment: 'The cache answers keys; who asks, and what for, is for pipeline/ to say.',
      severity: 'error',
      from: { path: room('cache') },
      to: { path: only('pipeline', 'auth', 'redaction', 'endpoints', 'http-messages') },
    },
    {
      name: 'messages-know-no-endpoint',
      comment: 'http-messages/ reads and writes HTTP; what a request means is for the handlers and pipeline/ to say.',
      severity: 'error',
      from: { path: room('http-messages') },
      to: { path: '^src/', pathNot: only('http-messages', 'base') },
    },
    {
      name: 'telemetry-only-listens',
      comment: 'Emit an event through the function that was passed to you; telemetry/ reads the types of events, and nobody calls it.',
      severity: 'error',
      from: { path: '^src/', pathNot: only('composition', 'commands', 'telemetry') },
      to: { path: room('telemetry') },
    },
    {
      name: 'googlesql-stands-alone',
      comment: 'The front-end is pure: text in, statement out. It knows errors, rows and how to find a near name, nothing else of ours.',
      severity: 'error',
      from: { path: room('googlesql') },
      to: { path: '^src/', pathNot: '^src/googlesql/|^src/base/(errors|nearest-name|rows)\\.ts$' },
    },
    floor(
      'trees-are-the-lowest-floor',
      'googlesql/tree',
      ['googlesql/times'],
      'Trees, types and scopes know no parser, function or printer; move what needs one up.',
    ),
    floor(
      'json-stands-alone',
      'googlesql/json',
      [],
      'Also read in the engine process: it must load nothing of the front-end.',
    ),
    floor(
      'times-stand-alone',
      'googlesql/times',
      [],
      'Also read in the engine process: it must load nothing of the front-end.',
    ),
    floor(
      'values-know-no-query',
      'googlesql/values',
      ['googlesql/json'],
      'These run in the engine process: values in, a value out.',
    ),
    floor(
      'syntax-knows-no-meaning',
      'googlesql/syntax',
      ['googlesql/tree'],
      'The parser makes a syntax tree of a text; names and types are resolved in binder/.',
    ),
    floor(
      'functions-are-data',
      'googlesql/functions',
      ['googlesql/tree', 'googlesql/json', 'googlesql/times', 'googlesql/values'],
      'A function row says how a call is typed and printed; binder/ finds it, printer/ writes it.',
    ),
    floor(
      'binder-does-not-print',
      'googlesql/binder',
      ['googlesql/tree', 'googlesql/json', 'googlesql/syntax', 'googlesql/functions'],
      'The bound tree is valid for both engines; what DuckDB needs is decided in printer/.',
    ),
    floor(
      'printer-does-not-bind',
      'googlesql/printer',
      ['googlesql/tree', 'googlesql/functions', 'googlesql/times'],
      'All that a printer needs is in the bound tree; add it there.',
    ),
    floor(
      'answers-know-no-client',
      'bigquery/answers',
      [],
      'Reading what the warehouse says needs no connection; pass the bytes in.',
    ),
    floor(
      'client-knows-no-statement',
      'bigquery/client',
      ['bigquery/answers'],
      'The client calls the API; which statement runs as which job is decided above it.',
    ),
    {
      name: 'base-carries-no-room',
      comment: 'Every room stands on base/; it imports none.',
      severity: 'error',
      from: { path: room('base') },
      to: { path: '^src/', pathNot: room('base') },
    },
    {
      name: 'pages-stand-alone',
      comment: 'The pages run in browsers and ask over HTTP. They share with the gateway how names, times and cells of CSV are written, and nothing else.',
      severity: 'error',
      from: { path: room('page') },
      to: {
        path: '^src/',
        pathNot: '^src/page/|^src/endpoints/(?:written-)?names\\.ts$|^src/base/format-timestamp\\.ts$|^src/formats/csv-cell\\.ts$',
      },
    },
    {
      name: 'nothing-sees-the-pages',
      comment: 'The build bundles the pages; the gateway serves the files that it wrote.',
      severity: 'error',
      from: { path: '^src/', pathNot: room('page') },
      to: { path: room('page') },
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
      from: { path: '^src/', pathNot: room('page') },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'unknown', 'undetermined'] },
    },
  ],
  options: {
    // The parser reads no JSX; test/docs/architecture.test.ts reads these files too.
    exclude: { path: '\\.tsx$' },
    doNotFollow: { path: 'node_modules' },
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    parser: 'swc',
    detectProcessBuiltinModuleCalls: true,
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default'] },
  },
};
