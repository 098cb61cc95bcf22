/** The item whose turn it is. */
export function at<Item>(items: readonly Item[], n: number): Item {
  return items[n % items.length]!;
}

export function list(count: number, item: (n: number) => string, separator = ', '): string {
  return Array.from({ length: count }, (_, n) => item(n)).join(separator);
}

/** SQL of a thousand rows of this size, which compress badly. */
export function bulk(bytes: number, n: number): string {
  return `select repeat(to_hex(sha256(concat('${n}', cast(x as string)))), ${Math.ceil(bytes / 64)}) as m from unnest(generate_array(1, 1000)) as x`;
}

/** SQL that runs until its deadline. */
export function endless(n: number): string {
  return `select count(*) as n from unnest(generate_array(1, 1000000)) a, unnest(generate_array(1, 1000000)) b where a + b = ${n}`;
}
