import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseSync } from '@swc/core';
import { expect, test } from 'vitest';
import suite from '../../vitest.config.ts';

/** Rules that are agreed but not built: the same as those that the page marks. A rule leaves this list when its test comes. */
const notYet: readonly string[] = [];

const root = fileURLToPath(new URL('../..', import.meta.url));
const textOf = (file: string) => readFileSync(root + file, 'utf8');
const filesOf = (...patterns: string[]) =>
  globSync(patterns, { cwd: root, exclude: file => file.endsWith('node_modules') }).sort();

const page = textOf('docs/contract.md');
const rules = [...page.matchAll(/^\*\*(\d+\.\d+)\*\* (\*\(not yet\)\*)?/gm)].map(([, number = '', mark]) => ({
  number,
  isBuilt: mark === undefined,
}));
const known = new Set(rules.map(({ number }) => number));
const built = rules.filter(({ isBuilt }) => isBuilt).map(({ number }) => number);

/** The rules that a text quotes: `contract 5.3`, `contract 5.3, 5.4`. */
function quotedIn(text: string): string[] {
  const quotations = text.matchAll(/\bcontract (\d+\.\d+(?:, \d+\.\d+)*)/gi);
  return [...quotations].flatMap(([, numbers = '']) => numbers.split(', '));
}

type Node = { readonly type?: string; readonly [key: string]: unknown };

/** The names of the tests and groups below a node of the syntax tree, without what is skipped. */
function namesBelow(node: unknown): string[] {
  if (Array.isArray(node)) return node.flatMap(namesBelow);
  if (typeof node !== 'object' || node === null) return [];
  const call = node as Node; // every object of the tree is a node or a part of one
  const path = call.type === 'CallExpression' ? pathOf(call.callee as Node) : [];
  const isTest = ['describe', 'it', 'test'].includes(path[0] ?? '');
  if (isTest && path.some(name => name === 'skip' || name === 'todo')) return [];
  const below = Object.values(call).flatMap(namesBelow);
  if (!isTest) return below;
  const [name] = call.arguments as { expression: Node }[];
  return [literalOf(name?.expression), ...below];
}

/** `test.each([…])` → test, each. */
function pathOf(callee: Node): string[] {
  if (callee.type === 'Identifier') return [String(callee.value)];
  if (callee.type === 'CallExpression') return pathOf(callee.callee as Node);
  if (callee.type !== 'MemberExpression') return [];
  return [...pathOf(callee.object as Node), String((callee.property as Node).value)];
}

/** The text of a string, or of a template without what it inserts. */
function literalOf(node: Node | undefined): string {
  if (node?.type === 'StringLiteral') return String(node.value);
  if (node?.type !== 'TemplateLiteral') return '';
  return (node.quasis as { cooked: string }[]).map(({ cooked }) => cooked).join('…');
}

/** The names of all tests of `npm test`: what runs on request only holds no rule. */
const testNames = filesOf('test/**/*.ts')
  .filter(file => !suite.test?.exclude?.some(pattern => file.startsWith(pattern.replace('**', ''))))
  .map(textOf)
  .filter(text => /contract \d/i.test(text))
  .flatMap(text => namesBelow(parseSync(text, { syntax: 'typescript' })));
const claimed = new Set(testNames.flatMap(quotedIn));

test('the rules of docs/contract.md are numbered without a gap, in eleven sections', () => {
  const sections = Map.groupBy(rules, ({ number }) => Number(number.split('.')[0]));
  expect([...sections.keys()]).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
  for (const [section, list] of sections) {
    expect(list.map(({ number }) => number)).toEqual(list.map((_, at) => `${section}.${at + 1}`));
  }
  expect(page.match(/^## .*/gm)).toHaveLength(11);
});

test('every rule has a test that names it', () => {
  expect(built.filter(number => !claimed.has(number))).toEqual([]);
});

test('no test claims a rule that is not built', () => {
  expect(rules.filter(({ isBuilt }) => !isBuilt).map(({ number }) => number)).toEqual(notYet);
  expect(notYet.filter(number => claimed.has(number))).toEqual([]);
});

test('every quotation is of a rule, in one spelling', () => {
  const files = filesOf('{src,test,bench,docs}/**/*.{ts,md}', '*.md', 'sql/*.sql');
  const wrong = files.flatMap(file => {
    // A quotation may be broken over two lines of a comment.
    const text = textOf(file).replace(/\s+(?:(?:\*|\/\/|--) )?/g, ' ');
    const unknown = quotedIn(text).filter(number => !known.has(number));
    const misspelled = text.match(
      /\bcontract\W{0,2} (?:section|rule|promise)s?\b.{0,9}|\b(?:section|rule)s? [\d.]+ of the contract|\bcontract \d+(?!\.?\d).{0,9}/gi,
    );
    return [...unknown, ...(misspelled ?? [])].map(quotation => `${file}: ${quotation}`);
  });
  expect(wrong).toEqual([]);
});
