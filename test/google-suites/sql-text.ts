/** The statement with empty texts and without comments, so that words can be searched for. */
export function withoutTexts(sql: string): string {
  return sql.replace(
    /(--|#)[^\n]*|\/\*[\s\S]*?\*\/|("""|''')[\s\S]*?\2|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'/g,
    text => (/^(--|#|\/\*)/.test(text) ? ' ' : `''`),
  );
}

/** Whether a query may read a TIMESTAMP out of a text without a zone. */
export function readsDefaultZone(sql: string): boolean {
  return /timestamp/i.test(sql) && /["'][^"'\n]*\d{4}-\d\d?-\d\d?(?:[ T]\d\d?:\d\d[\d:.]*)?["',)]/.test(sql);
}
