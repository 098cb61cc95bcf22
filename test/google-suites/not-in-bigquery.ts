import { withoutTexts } from './sql-text.ts';

/** Features of GoogleSQL that BigQuery does not have, by their names in the compliance tests. */
const foreignFeatures =
  /^(AGGREGATE_FILTERING|AGGREGATION_THRESHOLD|AI_|ANONYMIZATION|ANY_STRING_TEMPLATED|ARRAY_DISTINCT|ARRAY_AGGREGATION_FUNCTIONS|ARRAY_ELEMENTS_WITH_SET|ARRAY_FIND|ARRAY_OF_ARRAY|ARRAY_ORDERING|ARRAY_ZIP|BARE_ARRAY_ACCESS|BITWISE_AGGREGATE_BYTES|BRACED_PROTO|CAST_DIFFERENT_ARRAY|CAST_TO_JSON|CREATE_TABLE_FUNCTION|DIFFERENTIAL_PRIVACY|DML|ENABLE_MEASURES|ENCRYPTION|ENUM|EXTRACT_FROM_PROTO|FILTER_FIELDS|FIRST_AND_LAST_N|GENERAL_QUANTIFIED|GEOGRAPHY|INLINE_LAMBDA|KLL|LATERAL_|LIMIT_ALL|LIMIT_OFFSET_EXPRESSIONS|LITERAL_CONCATENATION|MAP_TYPE|MATCH_|MULTILEVEL|MULTI_GROUPING|MULTIWAY|PIPE_(TEE|FORK|CREATE|INSERT|IF|DESCRIBE|STATIC|RECURSIVE|CALL|NAMED|AGGREGATE_WITH)|PROTO|RADIANS|RELAXED|REPLACE_FIELDS|SAFE_FUNCTION_CALL_WITH_LAMBDA|SINGLE_TABLE|SQL_GRAPH|STRATIFIED|STRUCT_POSITIONAL|TABLE_VALUED|TEMPLATE|TIMESTAMP_(PICOS|NANOS|PRECISION)|TOP_LEVEL|TUMBLE|TYPEOF|UNNEST_AND_FLATTEN|UUID|WITH_GROUP_ROWS|WITH_RECURSIVE_DEPTH|JSON_TYPE_COMPARISON|NESTED_UPDATE|CORRELATED_REFS_IN_NESTED|DISALLOW_(NULL_)?PRIMARY)/;

const foreignWords: readonly (readonly [RegExp, string])[] = [
  [/\b(u?int32|uint64|float32|proto|enum)\b|\bas float\b|<float>/i, 'a type that BigQuery lacks'],
  [/googlesql_test|\bnew\s+\w+\.|\{\s*\w+\s*:/i, 'protocol buffers'],
  [/\bgraph_table\b|^\s*graph\b/i, 'graphs'],
  [/\bst_\w+\s*\(/i, 'geography'],
  [/->/, 'lambdas'],
  [
    /\b(add_months|array_(?:find\w*|filter|transform|includes\w*|is_distinct|min|max|sum|avg|zip)|bit_cast_to_\w+|(?:lax_)?(?:u?int32|uint64|float)(?:_array)?|collation_key|cosine_similarity|elementwise_\w+|flatten|from_proto|group_rows|highway_\w+|iferror|iserror|is_first|is_last|json_contains|l[12]_norm|last|lax_\w+_array|map_\w+|months_between|new_uuid|next_day|nulliferror|nullifzero|pb|pi|pi_\w+|radians|degrees|regexp_extract_groups|regexp_match|safe_to_\w*proto\w*|split_substr|timestamp_from_\w+|typeof|zeroifnull|(?:bool|double|int64|float64|string)_array)\s*\(/i,
    'functions that BigQuery lacks',
  ],
  [/\$\w+/, 'macros'],
  [/\|>\s*(?:fork|tee|describe|if|recursive|static_describe)\b/i, 'pipe operators that BigQuery lacks'],
  [/\bas\s+json\b\s*\)/i, 'a cast to JSON'],
  [/\bunsupported_type\b/i, 'a type that stands for none'],
];

/** Why BigQuery does not have what a query uses; undefined where it does. */
export function notInBigQuery(sql: string, features: readonly string[]): string | undefined {
  const feature = features.find(name => foreignFeatures.test(name));
  if (feature) return `BigQuery lacks ${feature}`;
  const code = withoutTexts(sql);
  const start = /^[\s(]*(?:@\{[^}]*\}\s*)?(\w+)/.exec(code)?.[1] ?? '';
  if (!/^(select|with|from)$/i.test(start)) return 'no query';
  return foreignWords.find(([pattern]) => pattern.test(code))?.[1];
}

/** GoogleSQL's own names of what BigQuery has under another. */
export function forBigQuery(sql: string): string {
  return sql.replace(
    /("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|\b(lax_)?double\b/gi,
    (text, quoted, lax = '') => (quoted ? text : `${lax}FLOAT64`),
  );
}
