import type { Column } from '../base/rows.ts';

/** The columns of rows whose strings hold JSON text, by name; the fields of a STRUCT below it. */
export type JsonColumns = ReadonlyMap<string, JsonColumns | 'json'>;

/** Finds the JSON columns. @returns undefined if there are none */
export function jsonColumnsOf(columns: readonly Column[]): JsonColumns | undefined {
  const found = new Map<string, JsonColumns | 'json'>();
  for (const { name, type, fields = [] } of columns) {
    const below = type === 'JSON' ? 'json' : jsonColumnsOf(fields);
    if (below) found.set(name, below);
  }
  return found.size > 0 ? found : undefined;
}

/** The current path in a JSON text that is read string by string. */
export type JsonPath = {
  /** Notes the key from `start` to `end`. */
  enter(start: number, end: number): void;
  /** Whether the string from `start` to `end`, which is a value, is one of a JSON column. */
  isJson(start: number, end: number): boolean;
};

const open = { object: 0x7b, array: 0x5b } as const;
const close = { object: 0x7d, array: 0x5d } as const;

/** Follows the path in the bytes of valid JSON. */
export function followPath(bytes: Buffer, root: JsonColumns): JsonPath {
  type Place = JsonColumns | 'json' | undefined;
  const around: Place[] = [];
  /** What the next value is. */
  let next: Place = root;
  let read = 0;

  /** Reads the bytes between two strings. */
  function readTo(start: number, end: number): void {
    for (; read < start; read++) {
      const byte = bytes[read];
      if (byte === open.object || byte === open.array) around.push(next);
      // After an element of an array, the next one is of the same kind.
      else if (byte === close.object || byte === close.array) next = around.pop();
    }
    read = end;
  }

  return {
    enter(start, end) {
      readTo(start, end);
      const columns = around.at(-1);
      next = columns instanceof Map ? columns.get(JSON.parse(bytes.toString('utf8', start, end))) : undefined;
    },
    isJson(start, end) {
      readTo(start, end);
      return next === 'json';
    },
  };
}
