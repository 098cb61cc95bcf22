import { type JsonHandler, textOf } from './json-reader.ts';

/** Builds a value from the parts of its JSON text, as `JSON.parse` would. */
export type ValueBuilder = JsonHandler & {
  /** The value, as far as it has been read. */
  value(): unknown;
};

/** Makes a builder of one value. Numbers are doubles. */
export function createValueBuilder(): ValueBuilder {
  const open: { readonly container: Record<string, unknown> | unknown[]; key: string }[] = [];
  let root: unknown;

  function add(value: unknown): void {
    const parent = open.at(-1);
    if (!parent) root = value;
    else if (Array.isArray(parent.container)) parent.container.push(value);
    // A plain assignment to `__proto__` would set the prototype.
    else Object.defineProperty(parent.container, parent.key, { value, enumerable: true, configurable: true });
  }

  return {
    open(bracket) {
      const container = bracket === '{' ? {} : [];
      add(container);
      open.push({ container, key: '' });
    },
    close() {
      open.pop();
    },
    key(name) {
      // The reader sends keys within objects only.
      open.at(-1)!.key = name;
    },
    string: add,
    longText: pieces => add(textOf(pieces)),
    literal: text => add(JSON.parse(text)),
    value: () => root,
  };
}
