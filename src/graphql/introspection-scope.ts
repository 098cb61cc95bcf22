import { BREAK, type DocumentNode, GraphQLError, visit } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import { requireScope } from '../auth/caller.ts';
import { errorCodes, toGatewayError } from '../base/errors.ts';
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
