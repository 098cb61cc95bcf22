import { BREAK, type DocumentNode, GraphQLError, visit } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import { requireScope } from '../auth/caller.ts';
import { errorCodes, toGatewayError } from '../base/errors.ts';
import { graphqlName, graphqlTypeName, sqlFieldName } from '../endpoints/names.ts';
import type { EndpointRegistry } from '../endpoints/registry.ts';
import { mayRead } from '../pipeline/plan-request.ts';
import type { OperationContext } from './operation-context.ts';

/** Refuses introspection to tokens without the scope `introspect`: at execution, because documents are validated once for all callers. */
export const introspectionScope: Plugin<OperationContext> = {
  onExecute({ args, setResultAndStopExecution }) {
    // Yoga's type leaves the context open; it is that of openContext.
    const { caller } = args.contextValue as OperationContext;
    if (!asksForSchema(args.document)) return;
    try {
      requireScope(caller, 'introspect');
    } catch (thrown) {
      const { code, message } = toGatewayError(thrown);
      const { status } = errorCodes[code];
      const extensions = { code, status, http: { status } };
      setResultAndStopExecution({ errors: [new GraphQLError(message, { extensions })] });
    }
  },
};

const answers = new WeakMap<DocumentNode, boolean>();

/** Whether an operation or fragment of the document selects an introspection field. */
function asksForSchema(document: DocumentNode): boolean {
  let asks = answers.get(document);
  if (asks !== undefined) return asks;
  asks = false;
  visit(document, {
    Field({ name: { value } }) {
      if (value !== '__schema' && value !== '__type') return undefined;
      asks = true;
      return BREAK;
    },
  });
  answers.set(document, asks);
  return asks;
}

const suggestion = / Did you mean [^?]*\?/g;

/**
 * Removes from "Did you mean" the names that the token may not read (contract 10.5): documents are validated once for all callers, against
 * the whole schema.
 */
export function readableSuggestions(
  endpoints: Pick<EndpointRegistry, 'all'>,
): Plugin<object, OperationContext> {
  return {
    onResultProcess({ result, setResult, serverContext: { caller } }) {
      if (Array.isArray(result) || !('errors' in result) || !result.errors) return;
      if (result.errors.every(({ message }) => !message.includes('Did you mean'))) return;
      const all = endpoints.all();
      const readable = all.filter(definition => mayRead(caller, definition));
      if (readable.length === all.length) return;
      const fields = readable.flatMap(({ name }) => [graphqlName(name), sqlFieldName(name)]);
      const rows = readable.map(({ name }) => `${graphqlTypeName(name)}Row`);
      const isReadable = (message: string) => {
        // An error about an argument or a column names the field or row type, and with it the saved query.
        const [, subject = ''] = / on (?:field|type) "(?:Query\.)?(\w+)"/.exec(message) ?? [];
        return fields.includes(subject) || rows.includes(subject);
      };
      const shown = (message: string) =>
        isReadable(message) ? message : message.replace(suggestion, found => onlyOf(fields, found));
      setResult({ ...result, errors: result.errors.map(error => withMessage(error, shown(error.message))) });
    },
  };
}

/** The suggestion with only these names; empty if none of them is in it. */
function onlyOf(names: readonly string[], found: string): string {
  const kept = [...found.matchAll(/"(\w+)"/g)].flatMap(([quoted, name = '']) =>
    names.includes(name) ? [quoted] : [],
  );
  return kept.length === 0 ? '' : ` Did you mean ${kept.join(' or ')}?`;
}

function withMessage(error: GraphQLError, message: string): GraphQLError {
  if (message === error.message) return error;
  const { nodes, source, positions, path, extensions } = error;
  return new GraphQLError(message, { nodes, source, positions, path, extensions });
}
