import { errorCodes } from '../base/errors.ts';
import { formatNames } from '../formats/row-formats.ts';

type Place = 'header' | 'query';

/** An optional parameter whose value is a text. */
function parameter(place: Place, name: string, description: string, schema: object) {
  return { name, in: place, required: false, description, schema: { type: 'string', ...schema } };
}

/** What every operation on a saved query takes, beside the query's own parameters. */
const parameters = {
  redactPii: parameter(
    'header',
    'LF-ENDPOINT-REDACT-PII',
    "Overrides the endpoint's redaction of personal data for this request; any letter case.",
    { enum: ['true', 'false'] },
  ),
  labels: parameter(
    'header',
    'LF-ENDPOINT-LABELS',
    'Labels of the query in the warehouse, for the keys that the saved query allows.',
    { examples: ['team=red,cost-centre=42'] },
  ),
  explain: parameter(
    'query',
    'explain',
    'Says what the query would do, as `{"explain":{…}}`, and runs none; for tokens with the scope `explain`.',
    { enum: ['true', 'false'] },
  ),
  format: parameter('query', 'format', 'The format of the answer; without it `Accept` decides.', {
    enum: formatNames,
    default: 'json',
  }),
  ifNoneMatch: parameter(
    'header',
    'If-None-Match',
    'An `ETag` of before: the answer is a 304 if it is still the same.',
    {},
  ),
};

const notModified = {
  description: 'The caller has these very rows already.',
  headers: { ETag: { $ref: '#/components/headers/etag' } },
};

type Properties = Readonly<Record<string, object>>;

/** The schema of an object with the members that it always has, and those that it may have. */
const objectOf = (always: Properties, maybe: Properties = {}) => ({
  type: 'object',
  required: Object.keys(always),
  properties: { ...always, ...maybe },
});

const text = { type: 'string' };
const integer = { type: 'integer' };
const bytes = { type: 'integer', format: 'int64' };
const anyObject = { type: 'object', additionalProperties: true };
const position = { line: integer, column: integer };

/** The response to `explain=true`. */
const explained = {
  ...objectOf({
    explain: objectOf(
      {
        endpoint: text,
        parameters: anyObject,
        cache_key: text,
        verdict: { enum: ['ok', 'refused'] },
      },
      {
        max_bytes_billed: bytes,
        estimated_bytes: bytes,
        sources: { type: 'array', items: text },
        columns: { type: 'array', items: anyObject },
        error: objectOf({ code: text, message: text }, position),
      },
    ),
  }),
  additionalProperties: false,
};

/** A header that not every response has. */
const header = (description: string, schema: object) => ({ description, required: false, schema });

const headers = {
  receipt: header(
    'What the query cost that the answer waited for, where the engine knows; a dictionary of RFC 9651.',
    { type: 'string', examples: ['bytes-processed=1000, bytes-billed=10485760, slot-ms=1500'] },
  ),
  truncated: header('`?1` where the query had more rows than `Result-Max-Rows`; else absent.', {
    type: 'string',
    enum: ['?1'],
  }),
  maxRows: header('The most rows of an answer; only where rows were cut.', { type: 'integer' }),
  etag: header('Of these bytes; absent where the saved query is not cached.', { type: 'string' }),
};

const errorResponse = {
  description: 'Any failure, with the status of its code.',
  content: {
    'application/json': {
      schema: objectOf({
        error: objectOf({
          code: { enum: Object.keys(errorCodes) },
          message: text,
          status: integer,
          errors: { type: 'array', items: objectOf({ reason: text, message: text }, position) },
          request_id: text,
        }),
      }),
    },
  },
};

/** The components that operations refer to, except rows. */
export const components = {
  securitySchemes: {
    apiKey: { type: 'apiKey', in: 'header', name: 'X-API-KEY' },
    bearer: { type: 'http', scheme: 'bearer' },
  },
  parameters,
  headers,
  responses: { error: errorResponse, notModified },
  schemas: { Explained: explained },
};
