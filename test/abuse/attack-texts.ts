import { deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';

/** Makes a value when it is first needed. */
function lazy<Value>(make: () => Value): () => Value {
  let made: Value | undefined;
  return () => (made ??= make());
}

const spaces = () => Buffer.alloc(200_000_000, ' ');

/** Bodies of 200 MB that are small on the wire. */
export const bombs = {
  gzip: lazy(() => gzipSync(spaces())),
  zstd: lazy(() => zstdCompressSync(spaces())),
  deflate: lazy(() => deflateSync(spaces())),
  /** A frame with a window of 128 MB. */
  window: lazy(() => zstdCompressSync(spaces(), { params: { 101: 27 } })), // ZSTD_c_windowLog
};

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
