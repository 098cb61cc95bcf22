import {
  BREAK,
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  GraphQLError,
  type GraphQLObjectType,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  getNamedType,
  isObjectType,
  SchemaMetaFieldDef,
  type SelectionSetNode,
  TypeMetaFieldDef,
  type ValidationRule,
  visit,
} from 'graphql';
import type { Plugin } from 'graphql-yoga';
import { requireScope } from '../auth/caller.ts';
import { errorCodes, toGatewayError } from '../base/errors.ts';
import { graphqlName, graphqlTypeName, sqlFieldName } from '../endpoints/names.ts';
import type { EndpointRegistry } from '../endpoints/registry.ts';
import { mayRead } from '../pipeline/plan-request.ts';
import { badRequest } from './graphql-errors.ts';
import { ownTurn } from './operation-budget.ts';
import type { OperationContext } from './operation-context.ts';

/**
 * Refuses introspection to tokens without the scope `introspect`: at execution, because documents are validated once for all callers. Otherwise it is
 * executed in a turn of the event loop of its own: a short document may ask for 50,000 fields.
 */
export const introspectionScope: Plugin<OperationContext> = {
  onExecute({ args, setResultAndStopExecution }) {
    // Yoga's type leaves the context open; it is that of openContext.
    const { caller } = args.contextValue as OperationContext;
    if (!asksForSchema(args.document)) return undefined;
    try {
      requireScope(caller, 'introspect');
      return ownTurn(caller.tokenId);
    } catch (thrown) {
      const { code, message } = toGatewayError(thrown);
      const { status } = errorCodes[code];
      const extensions = { code, status, http: { status } };
      setResultAndStopExecution({ errors: [new GraphQLError(message, { extensions })] });
      return undefined;
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

/**
 * Refuses a document whose introspection has more than `max` fields in its result. They are counted over the schema as it is,
 * before anything is executed: 20 KB of nested lists ask for 18 MB.
 */
export function limitIntrospection(max: number): ValidationRule {
  return context => {
    const schema = context.getSchema();
    let left = max;
    return {
      OperationDefinition(operation) {
        const queryType = schema.getQueryType();
        if (!queryType || left < 0) return;
        const spend = () => --left >= 0;
        const fragment = (name: string) => context.getFragment(name) ?? undefined;
        countFields(
          { schema, fragment, spend, within: new Set() },
          operation.selectionSet,
          queryType,
          undefined,
        );
        if (left >= 0) return;
        context.reportError(
          badRequest(`The introspection asks for more than ${max} fields; allowed: ${max}`, operation),
        );
      },
    };
  };
}

type Count = {
  readonly schema: GraphQLSchema;
  readonly fragment: (name: string) => FragmentDefinitionNode | undefined;
  /** Counts one more field; false once there are too many. */
  readonly spend: () => boolean;
  /** Names of the fragments that contain the current selection. */
  readonly within: Set<string>;
};

/**
 * Counts the fields of the introspection in a selection.
 * @param source the value whose fields are selected; undefined for the query itself, of which only the introspection counts
 * @returns false once there are too many
 */
function countFields(
  count: Count,
  { selections }: SelectionSetNode,
  type: GraphQLObjectType,
  source: unknown,
): boolean {
  return selections.every(selection => {
    // Spreads count too, because each may double the ones before it.
    if (!count.spend()) return false;
    if (selection.kind === 'Field') return countField(count, selection, type, source);
    if (selection.kind === 'InlineFragment') return countFields(count, selection.selectionSet, type, source);
    const name = selection.name.value;
    const fragment = count.fragment(name);
    // Cycles are refused by another rule; followed here, one would recurse as deep as the limit is high.
    if (!fragment || count.within.has(name)) return true;
    count.within.add(name);
    const isWithin = countFields(count, fragment.selectionSet, type, source);
    count.within.delete(name);
    return isWithin;
  });
}

function countField(count: Count, node: FieldNode, type: GraphQLObjectType, source: unknown): boolean {
  const name = node.name.value;
  const { selectionSet } = node;
  const field = source === undefined ? metaFields[name] : type.getFields()[name];
  // Unknown fields are refused by another rule.
  if (!field?.resolve || !selectionSet) return true;
  const fieldType = getNamedType(field.type);
  if (!isObjectType(fieldType)) return true;
  const { schema } = count;
  const resolve = (typeName?: string) =>
    // Introspection reads only the schema of the info. Deprecated fields always count.
    field.resolve?.(source, { includeDeprecated: true, name: typeName }, undefined, {
      schema,
    } as GraphQLResolveInfo);
  const children =
    name === '__type' && source === undefined ? typeNames(node, schema).map(resolve) : resolve();
  for (const child of Array.isArray(children) ? children : [children]) {
    if (child && !countFields(count, selectionSet, fieldType, child)) return false;
  }
  return true;
}

const metaFields: Readonly<Record<string, typeof SchemaMetaFieldDef>> = {
  __schema: SchemaMetaFieldDef,
  __type: TypeMetaFieldDef,
};

/** The names of the types that `__type` may return: all types if its argument is a variable. */
function typeNames({ arguments: args = [] }: FieldNode, schema: GraphQLSchema): string[] {
  const value = args.find(({ name }) => name.value === 'name')?.value;
  return value?.kind === 'StringValue' ? [value.value] : Object.keys(schema.getTypeMap());
}
