import { existsSync, globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = new URL('../../', import.meta.url);
const pages = globSync(['*.md', 'docs/**/*.md'], { cwd: root });

/** The anchors that GitHub makes of the headings of a page. */
function anchorsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

test('every link of the pages leads to a file and a heading that are there', () => {
  const broken = pages.flatMap(page => {
    const text = readFileSync(new URL(page, root), 'utf8');
    const links = [...text.matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g)];
    return links.flatMap(([link, path = '', anchor]) => {
      const target = path === '' ? new URL(page, root) : new URL(path, new URL(page, root));
      if (!existsSync(fileURLToPath(target))) return [`${page}: ${link}`];
      const isKnown = anchor === undefined || anchorsOf(readFileSync(target, 'utf8')).includes(anchor);
      return isKnown ? [] : [`${page}: ${link}`];
    });
  });
  expect(pages.length).toBeGreaterThan(20);
  expect(broken).toEqual([]);
});

test('a decision record is numbered as its file, and its number is used once', () => {
  const records = globSync('docs/decisions/*.md', { cwd: root }).sort();
  const numbers = records.map(file => Number(/(\d{4})-/.exec(file)?.[1]));
  const titles = records.map(file => readFileSync(new URL(file, root), 'utf8').split('.', 1)[0]);
  expect(titles).toEqual(numbers.map(number => `# ${number}`));
  expect(new Set(numbers).size).toBe(numbers.length);
});
