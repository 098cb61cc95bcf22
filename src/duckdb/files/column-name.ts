/** Letters that Unicode does not decompose into a plain one and a mark. */
const letters: Record<string, string> = {
  ß: 'ss',
  æ: 'ae',
  Æ: 'AE',
  œ: 'oe',
  Œ: 'OE',
  ø: 'o',
  Ø: 'O',
  ł: 'l',
  Ł: 'L',
  đ: 'd',
  Đ: 'D',
};

/**
 * The name of a column for a name in files, which may have any characters: `Body Mass (g)` → `Body_Mass_g`; `1978` → `column_1978`,
 * because GraphQL requires a letter first.
 * @param taken names of other columns, in lower case
 * @param place position of the column, from 1: used for a name without Latin letters
 */
export function columnName(name: string, taken: ReadonlySet<string>, place: number): string {
  const plain = name
    .replace(/[ßæÆœŒøØłŁđĐ]/g, letter => letters[letter]!)
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/[^A-Za-z0-9_]+/g, '_')
    .replace(/^_+|_+$/g, under => (under.length === 1 && name.startsWith('_') ? under : ''))
    .slice(0, 200);
  const started = /^_*[A-Za-z]/.test(plain)
    ? plain
    : plain === ''
      ? `column_${place}`
      : `column_${plain.replace(/^_+/, '')}`;
  for (let n = 1; ; n++) {
    const own = n === 1 ? started : `${started}_${n}`;
    if (!taken.has(own.toLowerCase())) return own;
  }
}

/** Whether a name is valid for a column as it is. */
export const isColumnName = (name: string) => /^_*[A-Za-z]\w*$/.test(name) && name.length <= 300;
