import { type ASTNode, GraphQLError } from 'graphql';

/**
 * Refuses a request that has no document, or one beyond a limit, with Yoga's own code: `sameErrorCodes` makes it `invalid_graphql`. The
 * status is 400 whatever media type is accepted.
 */
export function badRequest(message: string, nodes?: ASTNode): GraphQLError {
  return new GraphQLError(message, { nodes, extensions: { code: 'BAD_REQUEST', http: { status: 400 } } });
}
