/** The statement with empty texts and without comments, so that words can be searched for. */
export function withoutTexts(sql: string): string {
  return sql.replace(
    /(--|#)[^\n]*|\/\*[\s\S]*?\*\/|("""|''')[\s\S]*?\2|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'/g,
    text => (/^(--|#|\/\*)/.test(text) ? ' ' : `''`),
  );
}
