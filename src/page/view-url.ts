import type { Values } from './api/catalogue.ts';

/** How the rows are shown. */
export type Shown = 'table' | 'chart';

/** What the page shows. It stands in the fragment of the address, which browsers send to nobody; the token never does. */
export type View = {
  /** Name of the endpoint. */
  readonly endpoint: string;
  readonly values: Values;
  /** Absent: whatever suits the columns. */
  readonly shown?: Shown | undefined;
};

/** Not a name that a parameter can have. */
const shownKey = '~show';

/** Reads a fragment such as `#/logs.all?project=abc`; undefined if it names no endpoint. */
export function readView(fragment: string): View | undefined {
  const [, name = '', query = ''] = /^#\/([^?]+)\??(.*)$/s.exec(fragment) ?? [];
  const endpoint = decode(name);
  if (!endpoint) return undefined;
  const values: Record<string, string | readonly string[]> = {};
  let shown: Shown | undefined;
  for (const [key, value] of new URLSearchParams(query)) {
    const earlier = values[key];
    if (key === shownKey) shown = value === 'chart' || value === 'table' ? value : undefined;
    else values[key] = earlier === undefined ? value : [earlier, value].flat();
  }
  return { endpoint, values, shown };
}

/** Writes the fragment of a view. */
export function writeView({ endpoint, values, shown }: View): string {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(values)) {
    for (const text of [value].flat()) if (text !== '') query.append(key, text);
  }
  if (shown) query.append(shownKey, shown);
  const text = query.toString();
  return `#/${encodeURIComponent(endpoint)}${text && `?${text}`}`;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return '';
  }
}
