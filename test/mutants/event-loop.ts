import type { Mutant } from './mutant.ts';

const limits = 'test/googlesql/front-end-limits.test.ts';
const amongThousand = 'than among fewer';

export const eventLoop: readonly Mutant[] = [
  {
    promise: 'a long run of hexadecimal digits and colons is redacted in time that grows as the text does',
    file: 'src/redaction/ipv6.ts',
    find: '/^f[ef]/i.test(text.slice(start, start + 2))',
    replace: '/^f[ef]/.test(text.slice(start).toLowerCase())',
    test: ['test/redaction/redact-text.test.ts', 'time is linear in the length of'],
  },
  {
    promise: 'what comes before an address is read for twelve characters, not from the start of the text',
    file: 'src/redaction/ipv6.ts',
    find: 'text.slice(Math.max(0, at - maxThreeNumbersLength), at)',
    replace: 'text.slice(0, at)',
    test: ['test/redaction/redact-text.test.ts', 'time is linear in the length of'],
  },
  {
    promise: 'rows that are longer than 64 KiB are redacted on a thread of their own',
    file: 'src/pipeline/representation.ts',
    find: 'const maxInlineBytes = 64 * 1024;',
    replace: 'const maxInlineBytes = Infinity;',
    test: [
      'test/contract/redaction-kinds.test.ts',
      'redacting rows of hostile text holds the event loop for less than 100 ms',
    ],
  },
  {
    promise: 'a text that the front-end has refused is not compiled again',
    file: 'src/engine/compiler.ts',
    find: '    known.set(key, found);\n',
    replace: "    if (!('refusal' in found)) known.set(key, found);\n",
    test: ['test/engine/compiler.test.ts', 'contract 11.2: a refusal is kept, a bug is not'],
  },
  {
    promise: 'a SELECT has a thousand columns at most',
    file: 'src/googlesql/binder/bind-select-list.ts',
    find: '  if (count > maxColumns)\n',
    replace: '  if (count > 100 * maxColumns)\n',
    test: [
      'test/googlesql/front-end-limits.test.ts',
      'answers a query of 1,000 columns, and refuses one more',
    ],
  },
  {
    promise: 'the columns of all parts of a query are counted',
    file: 'src/googlesql/binder/bind-from.ts',
    find: "  context.statement.count('columns', columns.length, at);\n",
    replace: '',
    test: [
      'test/googlesql/front-end-limits.test.ts',
      'refuses more than 20,000 columns in all parts of a query',
    ],
  },
  {
    promise: 'a caller’s SQL has 20,000 tokens at most',
    file: 'src/googlesql/binder/bind-statement.ts',
    find: 'return parseQuery(callerSql, maxCallerTokens);',
    replace: 'return parseQuery(callerSql);',
    test: [
      'test/googlesql/front-end-limits.test.ts',
      'answers a query of 20,000 tokens, and refuses one more',
    ],
  },
  {
    promise: 'the columns of a table are indexed once, not for each name that is looked for',
    file: 'src/googlesql/tree/scope.ts',
    find: '    indexes.set(columns, index);\n',
    replace: '',
    test: ['test/googlesql/front-end-limits.test.ts', 'in time that grows as the text does'],
  },
  {
    promise: 'a star looks up which of its columns EXCEPT names',
    file: 'src/googlesql/binder/bind-select-list.ts',
    find: 'const kept = all.filter(column => !excepted.has(foldName(column.name)));',
    replace:
      'const kept = all.filter(column => !star.except.some(({ name }) => foldName(name) === foldName(column.name)));',
    test: [limits, amongThousand],
  },
  {
    promise: 'the names of GROUP BY and of USING are looked up in an index of the columns',
    file: 'src/googlesql/tree/scope.ts',
    find: 'for (const column of columnsOfKey(columnsOf(variable), key)) columns.push(column);',
    replace:
      'for (const column of columnsOf(variable)) if (foldName(column.name) === key) columns.push(column);',
    test: [limits, amongThousand],
  },
  {
    promise: 'the columns that a star stands for count',
    file: 'src/googlesql/binder/bind-select-list.ts',
    find: "    refuseManyColumns(items.length, item.kind === 'star' ? item.at : item.expression.at);\n",
    replace: "    if (item.kind !== 'star') refuseManyColumns(items.length, item.expression.at);\n",
    test: [limits, 'counts the columns that stars stand for'],
  },
  {
    promise: 'a pattern is bounded by its text alone, before it is compiled',
    file: 'src/googlesql/values/patterns.ts',
    find: '  const size = patternSize(pattern);\n',
    replace: '  const size = RE2JS.compile(pattern).programSize();\n',
    test: [
      'test/pipeline/bind-parameters.test.ts',
      'refuses a pattern whose repetitions make a large program before it is compiled, and says the limit',
    ],
  },
  {
    promise: 'the patterns of SAFE calls are bounded together before they are compiled',
    file: 'src/googlesql/functions/texts/constant-fault.ts',
    find: "      statement.count('safeInstructions', patternSize(text), at);\n",
    replace: '',
    test: [limits, 'refuses patterns of SAFE calls that are too large together'],
  },
  {
    promise: 'a costly pattern of a parameter is compiled in a turn of its own',
    file: 'src/endpoints/parameters/read-parameter.ts',
    find: 'const cheapSize = 100;',
    replace: 'const cheapSize = Infinity;',
    test: [
      'test/graphql/operation-limits.test.ts',
      'the patterns of a hundred fields are read in many turns',
    ],
  },
  {
    promise: 'the event loop turns between the texts of SQL that one caller sends',
    file: 'src/engine/compile-turns.ts',
    find: '    if (pauseMs > 0) await setTimeout(pauseMs);\n    while (turns.isOver()) await turns.next();\n',
    replace: '    if (pauseMs > 1000) await setTimeout(pauseMs);\n',
    test: ['test/engine/compile-turns.test.ts', 'the event loop turns between the texts of one caller'],
  },
  {
    promise: 'a large GraphQL result is rendered in slices',
    file: 'src/graphql/render-result.ts',
    find: '    while (budget.turns.isOver()) await budget.turns.next();\n',
    replace: '',
    test: [
      'test/graphql/operation-budget.test.ts',
      'a large result is written in slices, a small one at once',
    ],
  },
  {
    promise: 'the rows of a batch are handed out in slices',
    file: 'src/batch/run-queries.ts',
    find: '  for (const { start, end } of findRows(rowsJson, 1)) {\n    while (turns.isOver()) await turns.next();\n',
    replace: '  for (const { start, end } of findRows(rowsJson, 1)) {\n',
    test: ['test/batch/batch-queries.test.ts', 'the rows of a large batch hold nobody up'],
  },
  {
    promise: 'a format of many columns is written on a thread',
    file: 'src/formats/row-formatter.ts',
    find: 'if (workOf(format, columns, body) <= maxInlineWork)',
    replace: 'if (body.length <= maxInlineWork)',
    test: ['test/formats/row-formatter.test.ts', 'of many columns is not written on the event loop'],
  },
  {
    promise: 'pages of the warehouse are rendered in slices that all of them share',
    file: 'src/bigquery/answers/read-page.ts',
    find: '      while (readBytes > smallBytes && turns.isOver()) await turns.next();\n',
    replace: '      if (readBytes > smallBytes && turns.isOver()) await turns.next();\n',
    test: ['test/bigquery/answers/read-page.test.ts', 'pages that are read at the same time share one slice'],
  },
  {
    promise: 'long bodies are joined and hashed in slices',
    file: 'src/base/bytes.ts',
    find: 'if (length > chunkBytes) while',
    replace: 'if (length > 1000 * chunkBytes) while',
    test: ['test/base/bytes.test.ts', 'lets the event loop turn while long bytes are joined and hashed'],
  },
  {
    promise: 'a long body is compressed in the thread pool',
    file: 'src/http-messages/content-negotiation.ts',
    find: 'if (body.length <= maxInlineBytes) return inline(body);',
    replace: 'if (body.length <= 1024 * maxInlineBytes) return inline(body);',
    test: [
      'test/http/content-encoding.test.ts',
      'is made in the thread pool of a long body, inline of a short one',
    ],
  },
  {
    promise: 'a long entry is decoded in the thread pool',
    file: 'src/cache/entry.ts',
    find: 'if (length <= maxBytesNow) return ownMemory(zstdDecompressSync(stored));',
    replace: 'if (length <= 1000 * maxBytesNow) return ownMemory(zstdDecompressSync(stored));',
    test: ['test/cache/entry.test.ts', 'is compressed and decompressed in the thread pool if it is long'],
  },
  {
    promise: 'a long entry is encoded in the thread pool',
    file: 'src/cache/entry.ts',
    find: 'body.length > maxBytesNow ? zstdCompressAsync(body, options) : zstdCompressSync(body, options)',
    replace: 'body.length < maxBytesNow ? zstdCompressAsync(body, options) : zstdCompressSync(body, options)',
    test: ['test/cache/entry.test.ts', 'is compressed and decompressed in the thread pool if it is long'],
  },
  {
    promise: 'an event says when the event loop was held for longer than 100 ms',
    file: 'src/telemetry/watch-event-loop.ts',
    find: 'if (ms > tickMs)',
    replace: 'if (ms > 100 * tickMs)',
    test: [
      'test/telemetry/watch-event-loop.test.ts',
      'an event says that the event loop was held for longer than 100 ms',
    ],
  },
  {
    promise: 'the limits on a caller’s SQL are documented',
    file: 'docs/rest.md',
    find: "A caller's SQL may select 1,000 columns in one SELECT",
    replace: "A caller's SQL may select 2,000 columns in one SELECT",
    test: ['test/docs/limits.test.ts', 'states the limits that hold'],
  },
];
