/** The GraphQL field or argument of a saved query's name: `usage.api-counts` → `usageApiCounts`, `total_rest` → `totalRest`. */
export function graphqlName(name: string): string {
  const [first = '', ...rest] = name.split(/[._-]+/).filter(Boolean);
  return first.charAt(0).toLowerCase() + first.slice(1) + rest.map(capitalise).join('');
}

/** The GraphQL type of a saved query's name: `usage.api-counts` → `UsageApiCounts`. */
export function graphqlTypeName(name: string): string {
  return capitalise(graphqlName(name));
}

function capitalise(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}

/** The GraphQL field that takes a caller's own SQL over a saved query's subsets: `logs.all` → `logsAllSql`. */
export function sqlFieldName(name: string): string {
  return `${graphqlName(name)}Sql`;
}
