/** A template taken apart: its texts, and between them its holes without dollar signs and brackets. */
type Pieces = {
  readonly texts: readonly string[];
  readonly holes: readonly string[];
};

const hole =
  /\$(\d|\{\d+\}|\*|\|\||null|and|order|or|space|distinct|filter|over|jsonText|jsonValue|jsonWide|contains|sqlText|sqlLiteral|\$)/;

/** Maximum templates that are remembered, and their maximum length: enough for those of all functions; longer ones belong to one statement. */
const [maxRemembered, maxLength] = [1000, 300];

/** Remembers what a function returns for a template. */
export function rememberedByTemplate<Found>(find: (template: string) => Found): (template: string) => Found {
  const known = new Map<string, Found>();
  return template => {
    const found = known.get(template);
    if (found !== undefined) return found;
    const fresh = find(template);
    if (known.size >= maxRemembered) known.clear();
    if (template.length <= maxLength) known.set(template, fresh);
    return fresh;
  };
}

const piecesOf = rememberedByTemplate((template): Pieces => {
  const split = template.split(hole);
  const texts = split.filter((_, i) => i % 2 === 0);
  const holes = split.filter((_, i) => i % 2 === 1).map(name => name.replace(/[{}]/g, ''));
  return { texts, holes };
});

/** Whether every hole of a template is for one operand. */
export const isNumbered = rememberedByTemplate(template =>
  piecesOf(template).holes.every(name => /^\d/.test(name)),
);

/**
 * Fills a template in one pass, so that nothing in an argument is read as part of the template. It appends to one text, as `replace` and
 * `join` would not: nested calls would copy their arguments at each level.
 * @param partOf what a hole with a name stands for
 */
export function fillTemplate(
  template: string,
  values: readonly string[],
  partOf: (name: string) => string | undefined,
): string {
  const { texts, holes } = piecesOf(template);
  let filled = texts[0]!;
  for (const [i, name] of holes.entries()) {
    const text = name === '$' ? name : (values[Number(name) - 1] ?? partOf(name));
    if (text === undefined) throw new Error(`The template ${template} asks for what its call does not have`);
    filled += text + texts[i + 1]!;
  }
  return filled;
}
