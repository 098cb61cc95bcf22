import type { Values } from './api/catalogue.ts';

/** How the rows are shown. */
export const ways = ['chart', 'both', 'table'] as const;

export type Shown = (typeof ways)[number];

/** A part of the time axis, in seconds since 1970. */
export type Zoom = { readonly from: number; readonly to: number };

/** What the page shows. It is kept in the fragment of the address, which browsers send to no server; the token is not. */
export type View = {
  /** Name of the endpoint. */
  readonly endpoint: string;
  readonly values: Values;
  /** Absent: the one that suits the columns. */
  readonly shown?: Shown | undefined;
  readonly zoom?: Zoom | undefined;
  /** Rows without this text are hidden. */
  readonly filter?: string | undefined;
};

/** No parameter can have a name with a tilde. */
const keys = { shown: '~show', from: '~from', to: '~to', filter: '~filter' } as const;

/** Parses a fragment such as `#/logs.all?project=abc`; undefined if it names no endpoint. Invalid parts are dropped. */
export function readView(fragment: string): View | undefined {
  const [, name = '', query = ''] = /^#\/([^?]+)\??(.*)$/s.exec(fragment) ?? [];
  const endpoint = decode(name);
  if (!endpoint) return undefined;
  const own = new Map<string, string>();
  const values = new Map<string, string | readonly string[]>();
  for (const [key, value] of new URLSearchParams(query)) {
    const earlier = values.get(key);
    if (key.startsWith('~')) own.set(key, value);
    else values.set(key, earlier === undefined ? value : [earlier, value].flat());
  }
  const [from, to] = [keys.from, keys.to].map(key => Date.parse(own.get(key) ?? '') / 1000) as [
    number,
    number,
  ]; // as many as keys
  return {
    endpoint,
    values: Object.fromEntries(values),
    shown: ways.find(way => way === own.get(keys.shown)),
    zoom: from < to ? { from, to } : undefined,
    filter: own.get(keys.filter) || undefined,
  };
}

/** Writes the fragment of a view. */
export function writeView({ endpoint, values, shown, zoom, filter }: View): string {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(values)) {
    for (const text of [value].flat()) if (text !== '') query.append(key, text);
  }
  if (shown) query.append(keys.shown, shown);
  if (zoom) {
    query.append(keys.from, new Date(zoom.from * 1000).toISOString());
    query.append(keys.to, new Date(zoom.to * 1000).toISOString());
  }
  if (filter) query.append(keys.filter, filter);
  // A tilde needs no encoding in an address.
  const text = query.toString().replaceAll('%7E', '~');
  return `#/${encodeURIComponent(endpoint)}${text && `?${text}`}`;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return '';
  }
}
