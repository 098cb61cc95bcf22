import { quoteText } from '../googlesql/tree/quote-text.ts';

/** SQL expressions that draw a value from a tick's number `i`: the same `i` and salt give the same value. */

/** An integer from 0 to below `bound`. */
export const below = (salt: string, bound: number) => `(hash(i, ${quoteText(salt)}) % ${bound})::INTEGER`;

/** True in `percent` of 100 rows. */
export const chance = (salt: string, percent: number) => `${below(salt, 1000)} < ${percent * 10}`;

/** One of the expressions, each as likely as its weight. */
export function weigh(salt: string, weights: readonly (readonly [sql: string, weight: number])[]): string {
  let upTo = 0;
  const total = weights.reduce((sum, [, weight]) => sum + weight, 0);
  const arms = weights.map(([sql, weight]) => {
    upTo += weight;
    return `WHEN ${below(salt, total)} < ${upTo} THEN ${sql}`;
  });
  return `CASE ${arms.join(' ')} END`;
}

/** One of the texts, all equally likely. */
export const pick = (salt: string, texts: readonly string[]) =>
  `([${texts.map(quoteText).join(', ')}])[1 + ${below(salt, texts.length)}]`;

/** Texts with their weights, as `weigh` takes them. */
export const text = (strings: Readonly<Record<string, number>>) =>
  Object.entries(strings).map(([value, weight]) => [quoteText(value), weight] as const);

/** Numbers with their weights, smallest first, as `weigh` takes them. */
export const numbers = (weights: Readonly<Record<number, number>>) => Object.entries(weights);

export const hex = (salt: string, digits: number) =>
  `substr(md5(concat(i, ${quoteText(salt)})), 1, ${digits})`;

export const uuid = (salt: string) =>
  `concat(${hex(`${salt}1`, 8)}, '-', ${hex(`${salt}2`, 4)}, '-4', ${hex(`${salt}3`, 3)}, '-a', ${hex(`${salt}4`, 3)}, '-', ${hex(`${salt}5`, 12)})`;

export const ipv4 = (salt: string) =>
  `concat_ws('.', 1 + ${below(`${salt}a`, 223)}, ${below(`${salt}b`, 256)}, ${below(`${salt}c`, 256)}, 1 + ${below(`${salt}d`, 254)})`;

export const ipv6 = (salt: string) =>
  `concat('2a02:', ${hex(`${salt}e`, 4)}, ':', ${hex(`${salt}f`, 4)}, '::', ${hex(`${salt}g`, 4)})`;
