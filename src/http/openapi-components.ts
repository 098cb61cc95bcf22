import { errorCodes } from '../base/errors.ts';
import { formatNames } from '../formats/row-formats.ts';

const redactPii = {
  name: 'LF-ENDPOINT-REDACT-PII',
  in: 'header',
  required: false,
  description: "Overrides the endpoint's redaction of personal data for this request; any letter case.",
  schema: { type: 'string', enum: ['true', 'false'] },
};

const labels = {
  name: 'LF-ENDPOINT-LABELS',
  in: 'header',
  required: false,
  description: 'Labels of the query in the warehouse, for the keys that the saved query allows.',
  schema: { type: 'string', examples: ['team=red,cost-centre=42'] },
};

const explain = {
  name: 'explain',
  in: 'query',
  required: false,
  description:
    'Says what the query would do, as `{"explain":{…}}`, and runs none; for tokens with the scope `explain`.',
  schema: { type: 'string', enum: ['true', 'false'] },
};

const format = {
  name: 'format',
  in: 'query',
  required: false,
  description: 'The format of the answer; without it `Accept` decides.',
  schema: { type: 'string', enum: formatNames, default: 'json' },
};

const ifNoneMatch = {
  name: 'If-None-Match',
  in: 'header',
  required: false,
  description: 'An `ETag` of before: the answer is a 304 if it is still the same.',
  schema: { type: 'string' },
};

const etag = {
  description: 'Of these bytes; absent where the saved query is not cached.',
  required: false,
  schema: { type: 'string' },
};

const notModified = {
  description: 'The caller has these very rows already.',
  headers: { ETag: { $ref: '#/components/headers/etag' } },
};

/** The response to `explain=true`. */
const explained = {
  type: 'object',
  required: ['explain'],
  additionalProperties: false,
  properties: {
    explain: {
      type: 'object',
      required: ['endpoint', 'parameters', 'cache_key', 'verdict'],
      properties: {
        endpoint: { type: 'string' },
        parameters: { type: 'object', additionalProperties: true },
        cache_key: { type: 'string' },
        max_bytes_billed: { type: 'integer', format: 'int64' },
        verdict: { enum: ['ok', 'refused'] },
        estimated_bytes: { type: 'integer', format: 'int64' },
        sources: { type: 'array', items: { type: 'string' } },
        columns: { type: 'array', items: { type: 'object', additionalProperties: true } },
        error: {
          type: 'object',
          required: ['code', 'message'],
          properties: {
            code: { type: 'string' },
            message: { type: 'string' },
            line: { type: 'integer' },
            column: { type: 'integer' },
          },
        },
      },
    },
  },
};

const receipt = {
  description:
    'What the query cost that the answer waited for, where the engine knows; a dictionary of RFC 9651.',
  required: false,
  schema: { type: 'string', examples: ['bytes-processed=1000, bytes-billed=10485760, slot-ms=1500'] },
};

const truncated = {
  description: '`?1` where the query had more rows than `Result-Max-Rows`; else absent.',
  required: false,
  schema: { type: 'string', enum: ['?1'] },
};

const maxRows = {
  description: 'The most rows of an answer; only where rows were cut.',
  required: false,
  schema: { type: 'integer' },
};

const errorResponse = {
  description: 'Any failure, with the status of its code.',
  content: {
    'application/json': {
      schema: {
        type: 'object',
        required: ['error'],
        properties: {
          error: {
            type: 'object',
            required: ['code', 'message', 'status', 'errors', 'request_id'],
            properties: {
              code: { enum: Object.keys(errorCodes) },
              message: { type: 'string' },
              status: { type: 'integer' },
              errors: {
                type: 'array',
                items: {
                  type: 'object',
                  required: ['reason', 'message'],
                  properties: {
                    reason: { type: 'string' },
                    message: { type: 'string' },
                    line: { type: 'integer' },
                    column: { type: 'integer' },
                  },
                },
              },
              request_id: { type: 'string' },
            },
          },
        },
      },
    },
  },
};

/** The components that operations refer to, except rows. */
export const components = {
  securitySchemes: {
    apiKey: { type: 'apiKey', in: 'header', name: 'X-API-KEY' },
    bearer: { type: 'http', scheme: 'bearer' },
  },
  parameters: { redactPii, labels, explain, format, ifNoneMatch },
  headers: { receipt, truncated, maxRows, etag },
  responses: { error: errorResponse, notModified },
  schemas: { Explained: explained },
};
