import { GraphQLError, type ValidationRule } from 'graphql';

/**
 * Refuses a document that asks for more than `max` saved queries; each one may cost a query at the warehouse.
 * Fields of fragments count too.
 */
export function limitRootFields(max: number): ValidationRule {
  return context => {
    const queryType = context.getSchema().getQueryType();
    let count = 0;
    return {
      Field(node) {
        if (context.getParentType() !== queryType || node.name.value.startsWith('__')) return;
        count++;
        if (count !== max + 1) return;
        context.reportError(
          new GraphQLError(`The document asks for more than ${max} saved queries; allowed: ${max}`, {
            nodes: node,
          }),
        );
      },
    };
  };
}
