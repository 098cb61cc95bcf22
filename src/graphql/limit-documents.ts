import {
  type ASTNode,
  GraphQLError,
  Lexer,
  parse,
  Source,
  TokenKind,
  type ValidationRule,
  validate,
} from 'graphql';
import type { GraphQLParams, Plugin } from 'graphql-yoga';
import { jsonFault } from '../base/errors.ts';
import { hasMoreValues } from '../base/json.ts';
import { badRequest } from './graphql-errors.ts';
import { limitIntrospection } from './introspection.ts';

/** Limits of one document. */
const maxRootFields = 100;
const maxFragments = 100;
const maxRepeats = 10;
const maxIntrospectionFields = 50_000;
const maxNesting = 50;
const maxTokens = 5_000;

/** Values of the variables and extensions of a request, lists and objects among them. */
const maxValues = 10_000;

/** Refuses documents that would cost too much, before anything is executed. */
export const limits: Plugin = {
  onRequestParse({ requestParser, setRequestParser }) {
    if (!requestParser) return;
    setRequestParser(async request => {
      try {
        const parsed = await requestParser(request);
        // A list of requests is refused later, whatever it contains.
        if (!Array.isArray(parsed)) limitValues(parsed as GraphQLParams); // none of the parsers answers by itself
        return parsed;
      } catch (thrown) {
        if (thrown instanceof GraphQLError || !(thrown instanceof SyntaxError)) throw thrown;
        throw badRequest(
          `The variables or extensions of the request are not JSON: ${jsonFault(thrown).slice(0, 120)}`,
        );
      }
    });
  },
  onParse: ({ setParseFn }) =>
    setParseFn((source, parseOptions) => {
      limitNesting(String(source), maxNesting, maxTokens);
      return parse(source, parseOptions);
    }),
  onValidate: ({ setValidationFn }) =>
    setValidationFn((schema, document, rules) => {
      // These run first because they are cheap: GraphQL's own rules take up to a second for documents that these refuse.
      const refusals = validate(schema, document, limitingRules);
      return refusals.length > 0 ? refusals : validate(schema, document, rules);
    }),
};

/**
 * Refuses variables and extensions of more than `maxValues` values: graphql-js prints all of them for the message about a variable of
 * the wrong type, which takes a second for a megabyte.
 * @throws GraphQLError as `badRequest`
 */
function limitValues({ variables, extensions }: Partial<GraphQLParams>): void {
  if (!hasMoreValues([variables, extensions], maxValues)) return;
  throw badRequest(`The variables and extensions have more than ${maxValues} values; allowed: ${maxValues}`);
}

const opening: ReadonlySet<TokenKind> = new Set([TokenKind.BRACE_L, TokenKind.BRACKET_L, TokenKind.PAREN_L]);
const closing: ReadonlySet<TokenKind> = new Set([TokenKind.BRACE_R, TokenKind.BRACKET_R, TokenKind.PAREN_R]);

/**
 * Refuses a document of more than `maxTokens` tokens, and one whose braces, brackets and parentheses are nested deeper than `max`. The
 * parser and everything after it recurse for each level, and would overflow the stack; this reads tokens one by one.
 * @throws GraphQLError: as `badRequest`, or a syntax error of the lexer
 */
function limitNesting(text: string, max: number, maxTokens: number): void {
  const lexer = new Lexer(new Source(text));
  let depth = 0;
  for (let tokens = 0; tokens <= maxTokens; tokens++) {
    const { kind } = lexer.advance();
    if (kind === TokenKind.EOF) return;
    if (opening.has(kind)) depth++;
    else if (closing.has(kind)) depth--;
    if (depth > max) throw badRequest(`The document is nested more than ${max} levels deep; allowed: ${max}`);
  }
  throw badRequest(`The document has more than ${maxTokens} tokens; allowed: ${maxTokens}`);
}

/**
 * Refuses a document that makes GraphQL's own rules quadratic: they compare each field with all others of its name, and fragments
 * with each other, which takes a second if a document of a few KB has hundreds of them.
 * @param maxFragments maximum number of fragments, and of their spreads
 * @param maxRepeats maximum number of fields with the same name in one selection
 */
function limitComparisons(maxFragments: number, maxRepeats: number): ValidationRule {
  return context => {
    const refuse = (node: ASTNode, what: string, max: number) =>
      context.reportError(badRequest(`The document has more than ${max} ${what}; allowed: ${max}`, node));
    let fragments = 0;
    let spreads = 0;
    const countSpread = (node: ASTNode) => {
      if (++spreads === maxFragments + 1) refuse(node, 'spreads of fragments', maxFragments);
    };
    return {
      FragmentDefinition(node) {
        if (++fragments === maxFragments + 1) refuse(node, 'fragments', maxFragments);
      },
      FragmentSpread: countSpread,
      InlineFragment: countSpread,
      SelectionSet({ selections }) {
        const repeats = new Map<string, number>();
        for (const selection of selections) {
          if (selection.kind !== 'Field') continue;
          const name = (selection.alias ?? selection.name).value;
          const count = (repeats.get(name) ?? 0) + 1;
          repeats.set(name, count);
          if (count !== maxRepeats + 1) continue;
          refuse(selection, `fields of the name "${name}" in one selection`, maxRepeats);
        }
      },
    };
  };
}

/**
 * Refuses a document that asks for more than `max` saved queries; each one may cost a query at the warehouse.
 * Fields of fragments count too.
 */
function limitRootFields(max: number): ValidationRule {
  return context => {
    const queryType = context.getSchema().getQueryType();
    let count = 0;
    return {
      Field(node) {
        if (context.getParentType() !== queryType || node.name.value.startsWith('__')) return;
        count++;
        if (count !== max + 1) return;
        context.reportError(
          badRequest(`The document asks for more than ${max} saved queries; allowed: ${max}`, node),
        );
      },
    };
  };
}

/** Refuses fields that would be called `then` in the result: the executor takes an object with such a member for a promise. */
const refuseThen: ValidationRule = context => ({
  Field(node) {
    if ((node.alias ?? node.name).value !== 'then') return;
    context.reportError(badRequest('No field of a result may be named "then"; give it another alias', node));
  },
});

const limitingRules = [
  refuseThen,
  limitRootFields(maxRootFields),
  limitComparisons(maxFragments, maxRepeats),
  limitIntrospection(maxIntrospectionFields),
];
