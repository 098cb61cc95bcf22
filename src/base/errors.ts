/**
 * All expected failures of a request, in one table (contract 2.20).
 * `reason` is that of BigQuery's own error list if it has one.
 * `docs/errors.md` lists the same rows; a test keeps the two equal.
 */
export const errorCodes = {
  invalid_parameter: {
    status: 400,
    reason: 'invalidQuery',
    meaning: 'A parameter is missing, or its value is not allowed.',
  },
  invalid_header: {
    status: 400,
    reason: 'invalid',
    meaning: 'A request header has a value that is not allowed.',
  },
  invalid_body: {
    status: 400,
    reason: 'parseError',
    meaning: 'The request body is not a JSON object, or not UTF-8.',
  },
  invalid_request: {
    status: 400,
    reason: 'parseError',
    meaning: 'The request line or its encoding is malformed.',
  },
  invalid_graphql: {
    status: 400,
    reason: 'invalid',
    meaning: 'The GraphQL document does not parse, or does not fit the schema.',
  },
  invalid_query: {
    status: 400,
    reason: 'invalidQuery',
    meaning: 'The SQL is not valid; the message has line and column.',
  },
  sandbox_refused: {
    status: 400,
    reason: 'invalidQuery',
    meaning: "The caller's SQL reaches for something outside the saved query's subsets.",
  },
  result_too_large: {
    status: 400,
    reason: 'responseTooLarge',
    meaning: 'The result has more bytes than an answer may have; the message has the limit.',
  },
  unauthorized: {
    status: 401,
    reason: 'authError',
    meaning: 'The access token is missing, unknown, expired or revoked.',
  },
  forbidden: {
    status: 403,
    reason: 'accessDenied',
    meaning: 'The access token lacks the scope, does not cover the saved query, or fixes another value.',
  },
  persisted_query_not_found: {
    status: 404,
    reason: 'notFound',
    meaning: 'No document has this hash; send the document itself. GraphQL alone, where the answer is a 200.',
  },
  endpoint_not_found: {
    status: 404,
    reason: 'notFound',
    meaning: 'No saved query has this name or UUID, or its file is wrong.',
  },
  source_not_found: { status: 404, reason: 'notFound', meaning: 'No source has this name.' },
  route_not_found: { status: 404, reason: 'notFound', meaning: 'No route has this path.' },
  method_not_allowed: { status: 405, reason: 'methodNotAllowed', meaning: 'The route has no such method.' },
  not_acceptable: { status: 406, reason: 'notAcceptable', meaning: 'The Accept header fits no format.' },
  request_timeout: { status: 408, reason: 'requestTimeout', meaning: 'The request took too long to arrive.' },
  body_too_large: { status: 413, reason: 'uploadTooLarge', meaning: 'The request body is over the limit.' },
  uri_too_long: { status: 414, reason: 'uriTooLong', meaning: 'The request line is over the limit.' },
  unsupported_media_type: {
    status: 415,
    reason: 'unsupportedMediaType',
    meaning: 'The request body is not application/json.',
  },
  expectation_failed: {
    status: 417,
    reason: 'invalid',
    meaning: 'The Expect header asks for something other than 100-continue.',
  },
  too_many_requests: {
    status: 429,
    reason: 'rateLimitExceeded',
    meaning:
      'The access token has used up its requests for now, or too many of its queries or requests are waiting already.',
    retryAfterSeconds: 1,
  },
  quota_exceeded: {
    status: 429,
    reason: 'quotaExceeded',
    meaning: 'The queries of the access token have read all bytes that it has for the day or the month.',
    retryAfterSeconds: 3600,
  },
  headers_too_large: {
    status: 431,
    reason: 'headersTooLarge',
    meaning: 'The request headers are over the limit.',
  },
  cancelled: { status: 499, reason: 'stopped', meaning: 'The caller went away before the answer.' },
  internal: {
    status: 500,
    reason: 'internalError',
    meaning: 'A fault of the gateway; the request id finds it in the log.',
  },
  engine_failed: {
    status: 502,
    reason: 'backendError',
    meaning: 'The warehouse refused or failed the query.',
  },
  overloaded: {
    status: 503,
    reason: 'rateLimitExceeded',
    meaning: 'Too many queries are running.',
    retryAfterSeconds: 1,
  },
  unavailable: {
    status: 503,
    reason: 'backendError',
    meaning: 'The gateway is starting, stopping, or a dependency is down.',
    retryAfterSeconds: 2,
  },
  deadline_exceeded: { status: 504, reason: 'timeout', meaning: 'The query did not finish in time.' },
} as const satisfies Record<
  string,
  { status: number; reason: string; meaning: string; retryAfterSeconds?: number }
>;

export type ErrorCode = keyof typeof errorCodes;

/** A position in a caller's SQL text; both count from 1. */
export type SqlPosition = { readonly line: number; readonly column: number };

type ErrorDetails = {
  readonly position?: SqlPosition | undefined;
  readonly bytesLimit?: number | undefined;
  readonly isSourceFailure?: boolean | undefined;
  /** Overrides the seconds of the table if the failure knows when a retry makes sense. */
  readonly retryAfterSeconds?: number | undefined;
  readonly cause?: unknown;
};

/**
 * An expected failure. The message is for the caller: which thing, what was wrong, what is allowed;
 * never a secret, never SQL or table ids of the warehouse. Anything else thrown is a bug and answers 500.
 */
export class GatewayError extends Error {
  override readonly name = 'GatewayError';
  readonly code: ErrorCode;
  readonly position: SqlPosition | undefined;
  /** The `maxBytesBilled` for which the query was refused; under a higher one it may run. Absent for all other failures. */
  readonly bytesLimit: number | undefined;
  /** Whether the cause is a source itself, or the right to read it: then all queries over it fail like this. */
  readonly isSourceFailure: boolean;
  /** Seconds after which a retry makes sense; absent when it never does. */
  readonly retryAfterSeconds: number | undefined;

  constructor(code: ErrorCode, message: string, options: ErrorDetails = {}) {
    super(message, { cause: options.cause });
    this.code = code;
    this.position = options.position;
    this.bytesLimit = options.bytesLimit;
    this.isSourceFailure = options.isSourceFailure ?? false;
    const row = errorCodes[code];
    this.retryAfterSeconds =
      options.retryAfterSeconds ?? ('retryAfterSeconds' in row ? row.retryAfterSeconds : undefined);
  }

  get status(): number {
    return errorCodes[this.code].status;
  }

  /** The same failure with another message. */
  withMessage(message: string): GatewayError {
    return new GatewayError(this.code, message, this);
  }
}

/** Maximum characters of a message that repeats a caller's text or a value: it may be redacted, and each field of GraphQL has its own. */
const maxMessage = 1000;

/** Cuts a long message: it may repeat a name as long as a query's text, or a value as long as a row. */
export const shortened = (message: string) => cut(message, maxMessage);

/** Maximum characters of a sent value in a message. */
const maxQuoted = 120;

/** A value as a message repeats it: as JSON, and with `…` in place of what is too much. */
export function quoted(given: unknown): string {
  if (typeof given === 'string') return JSON.stringify(cut(given, maxQuoted));
  return cut(JSON.stringify(given) ?? 'nothing', maxQuoted);
}

/** The last character of a text that no e-mail or IP address contains, and what follows it. */
const afterAddresses = /[^\p{L}\p{N}.@+_%:-][\p{L}\p{N}.@+_%:-]*$/u;

/** Cuts a text between two words if there are any, because the redaction that follows would not recognise half of an address. */
function cut(text: string, max: number): string {
  if (text.length <= max) return text;
  const end = text.slice(0, max + 1).search(afterAddresses);
  return `${text.slice(0, end > max / 2 ? end : max).toWellFormed()}…`;
}

/** Converts anything thrown to a GatewayError; a bug becomes `internal`, with its cause for the log. */
export function toGatewayError(thrown: unknown): GatewayError {
  if (thrown instanceof GatewayError) return thrown;
  return new GatewayError('internal', 'Internal error', { cause: thrown });
}

/** What JSON.parse says of a text. A part of the text that it repeats is left out, because redaction would not recognise half of an e-mail address. */
export function jsonFault(error: Error): string {
  return error.message.replace(/, (?:\.\.\.".*"(?:\.\.\.)?|".*"\.\.\.) is not valid JSON$/s, '');
}

/** The message of anything thrown; not everything thrown is an Error. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
