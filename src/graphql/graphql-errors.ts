import { type ASTNode, GraphQLError } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import { type ErrorCode, errorCodes, type GatewayError, shortened, toGatewayError } from '../base/errors.ts';
import { errorHeaders } from '../http-messages/render-error.ts';
import type { HttpResponse } from '../http-messages/send-response.ts';
import { type Redaction, redactMessage } from '../pipeline/representation.ts';
import type { OperationContext } from './operation-context.ts';

/** Replaces the codes of Yoga's and GraphQL's own errors by codes of our table, and redacts the parts of the request that they repeat (contract 9.6). */
export const sameErrorCodes: Plugin<object, OperationContext> = {
  onResultProcess: ({ result, setResult, serverContext: { redact } }) => {
    if (Array.isArray(result) || !('errors' in result) || !result.errors) return;
    setResult({ ...result, errors: result.errors.map(error => withOurCode(error, redact)) });
  },
};

function withOurCode(error: GraphQLError, redact: Redaction): GraphQLError {
  const { code, http } = error.extensions;
  if (typeof code === 'string' && Object.hasOwn(errorCodes, code)) return error;
  const status = (http as { status?: number } | undefined)?.status;
  const ours: ErrorCode = status === 405 ? 'method_not_allowed' : 'invalid_graphql';
  const { nodes, source, positions, path } = error;
  // Without a valid document there is no GraphQL result, whichever media type was requested.
  const isNoDocument = code === 'BAD_REQUEST' && status !== 405;
  // Yoga leaves it out for variables of the wrong type, which are a 200 in application/json as well.
  const asInSpec = code === undefined && status === 400 ? { status, spec: true } : http;
  return new GraphQLError(redactMessage(shortened(error.message), redact), {
    nodes,
    source,
    positions,
    path,
    extensions: {
      code: ours,
      status: errorCodes[ours].status,
      http: isNoDocument ? { status: 400 } : asInSpec,
    },
  });
}

/** A GatewayError keeps its message and gets its code; anything else is a bug, and its message is masked. */
export function maskError(thrown: unknown): Error {
  if (!(thrown instanceof GraphQLError)) return toGraphqlError(toGatewayError(thrown));
  const { originalError: original } = thrown;
  if (original === undefined || original instanceof GraphQLError || isCoercion(thrown)) return thrown;
  return toGraphqlError(toGatewayError(original), thrown);
}

/** Whether an error is a variable or argument of the wrong type, the caller's fault: graphql-js gives it no path in the result. */
function isCoercion(error: GraphQLError): boolean {
  return error.path === undefined;
}

function toGraphqlError(error: GatewayError, at?: GraphQLError): GraphQLError {
  const { code, status, position, retryAfterSeconds } = error;
  const masked = new GraphQLError(error.message, {
    nodes: at?.nodes,
    path: at?.path,
    extensions: { code, status, ...position, retryAfterSeconds },
  });
  if (code === 'internal') faults.set(masked, error);
  return masked;
}

const faults = new WeakMap<GraphQLError, GatewayError>();

/** The bug behind a masked error. */
export function faultOf(error: GraphQLError): GatewayError | undefined {
  return faults.get(error);
}

/**
 * The response to a request that failed before its operation: the same form, with the error's own status.
 * @param mediaType the type that its client prefers: clients do not read the errors of an `application/json` with such a status
 */
export function failedResponse(
  error: GatewayError,
  requestId: string,
  mediaType = 'application/json',
): HttpResponse {
  return {
    status: error.status,
    headers: {
      'content-type': `${mediaType}; charset=utf-8`,
      'cache-control': 'no-store',
      vary: 'Accept',
      ...errorHeaders(error),
    },
    body: Buffer.from(
      JSON.stringify({ errors: [toGraphqlError(error).toJSON()], extensions: { request_id: requestId } }),
    ),
  };
}

/**
 * Refuses a request that has no document, or one beyond a limit, with Yoga's own code: `sameErrorCodes` makes it `invalid_graphql`. The
 * status is 400 whatever media type is accepted.
 */
export function badRequest(message: string, nodes?: ASTNode): GraphQLError {
  return new GraphQLError(message, { nodes, extensions: { code: 'BAD_REQUEST', http: { status: 400 } } });
}
