import { type ASTNode, GraphQLError, type ValidationRule } from 'graphql';

/**
 * Refuses a document that makes GraphQL's own rules compare too much: they compare each field with all others of its name, and
 * fragments with each other, which takes a second where a document of a few KB has hundreds of them.
 * @param maxFragments fragments, and places where one is spread
 * @param maxRepeats times that one selection has one name
 */
export function limitComparisons(maxFragments: number, maxRepeats: number): ValidationRule {
  return context => {
    const refuse = (node: ASTNode, what: string, max: number) =>
      context.reportError(
        new GraphQLError(`The document has more than ${max} ${what}; allowed: ${max}`, { nodes: node }),
      );
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
