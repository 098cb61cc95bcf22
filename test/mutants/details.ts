import type { Mutant } from './mutant.ts';

const redaction = 'test/contract/redaction-kinds.test.ts';
const malformed = 'test/http/malformed-requests.test.ts';
const compose = 'test/docs/compose.test.ts';
const reference = 'test/oracle/differential.test.ts';

const errorMessages: readonly Mutant[] = [
  {
    promise: 'what is said of rows that do not fit beside others that are loaded is redacted',
    file: 'src/http/answer-rows.ts',
    find: 'reason: redactMessage(reason, pipeline.redactKinds),',
    replace: 'reason,',
    test: ['test/contract/redaction-kinds.test.ts', 'of rows that do not fit beside others that are loaded'],
  },
  {
    promise: 'the message of a query that failed is redacted where its rows would be',
    file: 'src/pipeline/run-endpoint.ts',
    find: 'redactError(thrown, plan?.redact)',
    replace: '(redactError(undefined, plan?.redact), thrown)',
    test: [redaction, 'a value that the engine names'],
  },
  {
    promise: 'the message about a refused parameter is redacted where rows would be',
    file: 'src/pipeline/plan-request.ts',
    find: 'throw redactError(thrown, redact);',
    replace: 'throw (redactError(undefined, redact), thrown);',
    test: [redaction, 'a value that a parameter does not take'],
  },
  {
    promise: 'what is wrong with a request that cannot be read is redacted, whatever it asks for',
    file: 'src/pipeline/plan-request.ts',
    find: 'let redact: Redaction = kinds;',
    replace:
      'let redact: Redaction = redactionOf(kinds, definition, { redactPii: headers.redactPii === true }, caller);',
    test: [redaction, 'of a request that can not be read, whatever it asks for'],
  },
  {
    promise: 'the message about an unknown saved query is redacted',
    file: 'src/pipeline/plan-request.ts',
    find: 'throw redactError(thrown, redactKinds);',
    replace: 'throw (redactError(undefined, redactKinds), thrown);',
    test: [redaction, 'of a saved query that is not there'],
  },
  {
    promise: 'messages about a path, a name or a body of the other routes are redacted',
    file: 'src/http/answer-route.ts',
    find: "throw name === 'rest' ? thrown : redactError(thrown, deps.pipeline.redactKinds);",
    replace: "throw name === 'rest' ? thrown : redactError(thrown, undefined);",
    test: [redaction, 'rows for an unknown source'],
  },
  {
    promise: "messages of GraphQL's own about a request are redacted",
    file: 'src/graphql/graphql-errors.ts',
    find: 'redactMessage(shortened(error.message), redact)',
    replace: 'redactMessage(shortened(error.message), redact && undefined)',
    test: [redaction, "in GraphQL's own words, unless plain rows are asked for"],
  },
  {
    promise: "messages of MCP's server are redacted",
    file: 'src/mcp/mcp-server.ts',
    find: 'message => redactMessage(message, redaction)',
    replace: 'message => redactMessage(message, redaction && undefined)',
    test: [redaction, "in the words of MCP's server, unless plain rows are asked for"],
  },
  {
    promise: 'the refusal of SQL that is only checked is redacted',
    file: 'src/pipeline/check-sql.ts',
    find: 'redactError(thrown, redact)',
    replace: 'redactError(thrown, redact && undefined)',
    test: [redaction, 'of a check of SQL, and of what it could not read'],
  },
  {
    promise: 'the refusal of SQL that is only explained is redacted',
    file: 'src/pipeline/explain-endpoint.ts',
    find: 'redactError(thrown, redact)',
    replace: 'redactError(thrown, redact && undefined)',
    test: [redaction, 'in GraphQL, and where a query is only explained'],
  },
  {
    promise: 'a message about JSON repeats no part of an address that redaction would not recognise',
    file: 'src/base/errors.ts',
    find: String.raw`return error.message.replace(/, (?:\.\.\.".*"(?:\.\.\.)?|".*"\.\.\.) is not valid JSON$/s, '');`,
    replace: 'return error.message;',
    test: [redaction, 'of a body that is no JSON, and repeats no part of an address'],
  },
  {
    promise: 'the message about an encoded body of a query is redacted',
    file: 'src/http/answer-route.ts',
    find: "throw new GatewayError('unsupported_media_type', redactMessage(message, redact));",
    replace: "throw new GatewayError('unsupported_media_type', redactMessage(message, redact && undefined));",
    test: [redaction, 'an encoded body'],
  },
  {
    promise: 'the message about a GraphQL request without an operation is redacted',
    file: 'src/graphql/answer-graphql.ts',
    find: 'redactError(thrown, pipeline.redactKinds)',
    replace: 'redactError(thrown, undefined)',
    test: [redaction, 'of a GraphQL request without an operation'],
  },
  {
    promise: "what MCP's transport refuses is redacted",
    file: 'src/mcp/answer-mcp.ts',
    find: 'redactMessage(error.message, redaction)',
    replace: 'redactMessage(error.message, redaction && undefined)',
    test: [redaction, "in the words of MCP's library"],
  },
  {
    promise: 'what does not fit a method of MCP is redacted',
    file: 'src/mcp/answer-mcp.ts',
    find: 'redactMessage(text, redaction)',
    replace: 'redactMessage(text, redaction && undefined)',
    test: [redaction, "in the words of MCP's library"],
  },
];

const refusedBytes: readonly Mutant[] = [
  {
    promise: 'an Expect that is not offered is answered 417 in JSON with X-Request-Id',
    file: 'src/http/http-server.ts',
    find: 'receive(request, response, () => handler.refuse(request, response, error));',
    replace: 'receive(request, response, () => response.writeHead(error.status).end());',
    test: [malformed, 'an Expect of something else'],
  },
  {
    promise: 'headers that are too large are answered 431 in JSON',
    file: 'src/http-messages/answer-raw.ts',
    find: 'const { status, headers, body } = renderError(error, requestId, compat);',
    replace:
      "const { status, headers, body } = renderError(error, requestId, compat);\n  if (status === 431) body.fill(' ');",
    test: [malformed, 'headers of 200 KB'],
  },
  {
    promise: 'bytes that are not HTTP are answered 400 in JSON',
    file: 'src/http-messages/answer-raw.ts',
    find: 'const { status, headers, body } = renderError(error, requestId, compat);',
    replace:
      "const { status, headers, body } = renderError(error, requestId, compat);\n  if (status === 400) body.fill(' ');",
    test: [malformed, 'a header that is none'],
  },
  {
    promise: 'answers to what the parser refused have an X-Request-Id',
    file: 'src/http-messages/answer-raw.ts',
    find: "    'x-request-id': requestId,\n",
    replace: '',
    test: [malformed, 'two lengths'],
  },
  {
    promise: 'a malformed body in chunks is answered in JSON by its reader',
    file: 'src/http/http-server.ts',
    find: 'if (pair && !pair.request.complete && failBody(pair.request, error)) return;',
    replace: 'if (pair && !pair.request.complete) return void socket.destroy();',
    test: [malformed, 'chunks that are none'],
  },
  {
    promise: 'a malformed request does not swallow the answer before it on its connection',
    file: 'src/http/http-server.ts',
    find: "pair.response.once('close', () => answerRaw(deps, socket, error));",
    replace: 'answerRaw(deps, socket, error);',
    test: [malformed, 'a malformed request does not swallow the answer before it on its connection'],
  },
  {
    promise: 'a refused CONNECT does not swallow the answer before it on its connection',
    file: 'src/http/http-server.ts',
    find: "refuse(socket, new GatewayError('method_not_allowed', 'CONNECT is not offered: this is not a proxy'));",
    replace:
      "answerRaw(deps, socket, new GatewayError('method_not_allowed', 'CONNECT is not offered: this is not a proxy'));",
    test: [malformed, 'a malformed request does not swallow the answer before it on its connection'],
  },
];

const kinds: readonly Mutant[] = [
  ...(['jwt', 'ipv6', 'ipv4', 'email', 'bearer'] as const).map(kind => ({
    promise: `redaction of the kind ${kind} can be switched off`,
    file: 'src/redaction/redact-text.ts',
    find: `kinds.includes('${kind}') && `,
    replace: '',
    test: ['test/redaction/redact-text.test.ts', 'each kind can be switched off alone'] as const,
  })),
  {
    promise: 'the kinds of personal data are a setting of the gateway',
    file: 'src/composition/composition-root.ts',
    find: 'redactKinds: config.REDACT_KINDS,',
    replace: "redactKinds: ['ipv4', 'ipv6', 'email', 'bearer', 'jwt'],",
    test: [redaction, 'by configuration'],
  },
  {
    promise: 'the kinds of personal data are a setting of a saved query',
    file: 'src/pipeline/plan-request.ts',
    find: 'const kinds = definition.redactKinds ?? deps.redactKinds;',
    replace: 'const kinds = deps.redactKinds;',
    test: [redaction, 'by endpoint, from the cache too'],
  },
];

const lql: readonly Mutant[] = [
  {
    promise: 'lql in the query string is a 400',
    file: 'src/http/answer-rest.ts',
    find: '  rejectLql(query);\n',
    replace: '',
    test: [malformed, 'contract 2.7: lql is answered 400: '],
  },
  {
    promise: 'lql in a body is a 400',
    file: 'src/http/answer-rest.ts',
    find: '  rejectLql(body);\n',
    replace: '',
    test: [malformed, 'contract 2.7: lql is answered 400: '],
  },
  {
    promise: 'an empty lql is a 400, too',
    file: 'src/http/answer-rest.ts',
    find: 'if (parameters.lql === undefined) return;',
    replace: 'if (!parameters.lql) return;',
    test: [malformed, 'contract 2.7: lql is answered 400: '],
  },
];

const anchors: readonly Mutant[] = [
  {
    promise: 'a pattern after a $ matches nothing in a column',
    file: 'src/googlesql/functions/texts/functions-string.ts',
    find: String.raw`/[\s\S]\^|\$[\s\S]|\\[Az]/`,
    replace: String.raw`/[\s\S]\^|\\[Az]/`,
    test: [reference, 'answers like the reference'],
  },
  {
    promise: String.raw`a pattern after a \z matches nothing in a column`,
    file: 'src/googlesql/functions/texts/functions-string.ts',
    find: String.raw`/[\s\S]\^|\$[\s\S]|\\[Az]/`,
    replace: String.raw`/[\s\S]\^|\$[\s\S]|\\[A]/`,
    test: [reference, 'answers like the reference'],
  },
  {
    promise: 'a pattern before a ^ matches nothing in a column',
    file: 'src/googlesql/functions/texts/functions-string.ts',
    find: String.raw`/[\s\S]\^|\$[\s\S]|\\[Az]/`,
    replace: String.raw`/\$[\s\S]|\\[Az]/`,
    test: [reference, 'answers like the reference'],
  },
  {
    promise: 'a calculated pattern whose anchor cannot hold matches nothing in a column',
    file: 'src/googlesql/functions/duckdb-macros.ts',
    find: String.raw`case when regexp_matches(p, '(?s).\^|\$.|\\[Az]') then '()' || p else p end`,
    replace: 'p',
    test: [reference, 'answers like the reference'],
  },
  {
    promise: 'nothing is extracted by a pattern whose anchor cannot hold',
    file: 'src/googlesql/functions/texts/functions-string.ts',
    find: 'rows === extractRow && (mayTakeNoPart || misplacedAnchor.test(pattern))',
    replace: 'rows === extractRow && mayTakeNoPart',
    test: [reference, 'answers like the reference'],
  },
];

const restarts = 'every service starts again, and has a limit of memory';
const locked = 'the command line of Redis locks it, and its health check has the key';
const passwords = 'nothing starts without a password for Redis, and all use it';
const ports = 'the only open port is that of nginx, on loopback unless set otherwise';
const imageCheck = "the image's health check succeeds while a gateway answers, and fails when it does not";

const deployment: readonly Mutant[] = [
  ...[
    [
      'gateways and the worker',
      '  image: saved-query-gateway\n',
      '  restart: unless-stopped\n',
      '  init: true\n',
    ],
    ['nginx', '    image: nginx:1.29-alpine\n', '    restart: unless-stopped\n', ''],
    ['Redis', '    image: redis:7\n', '    restart: unless-stopped\n', ''],
  ].map(([what, before, line, after]) => ({
    promise: `Compose starts ${what} again`,
    file: 'docker-compose.yml',
    find: `${before}${line}${after}`,
    replace: `${before}${after}`,
    test: [compose, restarts] as const,
  })),
  ...[
    ['gateways and the worker', '  mem_limit: 3g\n'],
    ['nginx', '    mem_limit: 768m\n'],
    ['Redis', '    mem_limit: 384m\n'],
  ].map(([what, line]) => ({
    promise: `in Compose the memory of ${what} has a limit`,
    file: 'docker-compose.yml',
    find: line!,
    replace: '',
    test: [compose, restarts] as const,
  })),
  {
    promise: 'in Compose nginx is on loopback by default',
    file: 'docker-compose.yml',
    find: 'BIND:-127.0.0.1}:',
    replace: 'BIND:-0.0.0.0}:',
    test: [compose, ports],
  },
  {
    promise: 'in Compose the port of Redis is not open',
    file: 'docker-compose.yml',
    find: '    image: redis:7\n',
    replace: '    image: redis:7\n    ports: ["6379:6379"]\n',
    test: [compose, ports],
  },
  {
    promise: 'Redis in Compose demands a password',
    file: 'docker-compose.yml',
    find: ' --maxmemory-policy allkeys-lru\n        --requirepass "$$REDIS_PASSWORD"',
    replace: ' --maxmemory-policy allkeys-lru',
    test: [compose, locked],
  },
  {
    promise: 'Compose starts nothing without a password for Redis',
    file: 'docker-compose.yml',
    find: 'REDIS_PASSWORD: ${REDIS_PASSWORD:?',
    replace: 'REDIS_PASSWORD: ${REDIS_PASSWORD:-',
    test: [compose, passwords],
  },
  {
    promise: 'Compose starts no gateway and no worker without a password for Redis',
    file: 'docker-compose.yml',
    find: 'redis://:${REDIS_PASSWORD:?',
    replace: 'redis://:${REDIS_PASSWORD:-',
    test: [compose, passwords],
  },
  {
    promise: 'Compose checks whether Redis answers who has its password',
    file: 'docker-compose.yml',
    find: 'redis-cli ping | grep -q PONG',
    replace: 'redis-cli ping',
    test: [compose, locked],
  },
  {
    promise: 'the image is unhealthy once its gateway does not answer',
    file: 'Dockerfile',
    find: '() => process.exit(1))',
    replace: '() => process.exit(0))',
    test: [compose, imageCheck],
  },
  {
    promise: 'the image says whether its gateway is healthy',
    file: 'Dockerfile',
    find: 'HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \\\n  CMD',
    replace: '# No check:',
    test: [compose, imageCheck],
  },
];

/** Messages of errors, what the HTTP parser refuses, kinds of personal data, patterns, Compose and the image. */
export const details: readonly Mutant[] = [
  ...errorMessages,
  ...refusedBytes,
  ...kinds,
  ...lql,
  ...anchors,
  ...deployment,
  {
    promise: 'the base of the image is pinned by its digest',
    file: 'Dockerfile',
    find: '@sha256:ec7758ee051e457b468b32bde57b0879010b325bb9862718e9615225ce4aaae1',
    replace: '',
    test: ['test/docs/compose.test.ts', 'by its digest'],
  },
  {
    promise: 'no stage of the image is built from another base',
    file: 'Dockerfile',
    find: '{BASE} AS build',
    replace: '{OTHER} AS build',
    test: ['test/docs/compose.test.ts', 'by its digest'],
  },
];
