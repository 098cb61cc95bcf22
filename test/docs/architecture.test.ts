import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';

const root = new URL('../../', import.meta.url);
const sources = readdirSync(new URL('src', root), { recursive: true, encoding: 'utf8' }).filter(file =>
  /\.tsx?$/.test(file),
);
/** The room of a file below `src/`; undefined for the entry files. */
const roomOf = (file: string) => /^([^/]+)\//.exec(file)?.[1];

/** Which rooms each room imports, types included. */
function importsOfRooms(): Record<string, string[]> {
  const rooms: Record<string, Set<string>> = {};
  for (const file of sources) {
    const room = roomOf(file);
    if (!room) continue;
    rooms[room] ??= new Set();
    const text = readFileSync(new URL(`src/${file}`, root), 'utf8');
    for (const [, path] of text.matchAll(/(?:from|import\() ?'(\.[^']+)'/g)) {
      const target = roomOf(join(dirname(file), path!));
      if (target && target !== room) rooms[room].add(target);
    }
  }
  return Object.fromEntries(Object.entries(rooms).map(([room, targets]) => [room, [...targets].sort()]));
}

const page = readFileSync(new URL('ARCHITECTURE.md', root), 'utf8');

test('ARCHITECTURE.md says of each room what it imports', () => {
  const rows = [...page.matchAll(/^\| `([a-z-]+)\/` \|.*\|([^|]*)\|$/gm)];
  const documented = rows.map(([, room, cell]) => [
    room!,
    cell!
      .split(',')
      .map(name => name.trim())
      .filter(Boolean),
  ]);
  expect(Object.fromEntries(documented)).toEqual(importsOfRooms());
});

test('the picture of ARCHITECTURE.md has each room on a line above the rooms that it imports', () => {
  const lines = /```\n([\s\S]*?)```/.exec(page)![1]!.split('\n');
  const lineOf = (room: string) => lines.findIndex(line => new RegExp(`(^|\\s)${room}/`).test(line));
  for (const [room, targets] of Object.entries(importsOfRooms())) {
    expect([room, lineOf(room)]).not.toEqual([room, -1]);
    const notBelow = targets.filter(target => lineOf(target) <= lineOf(room));
    expect([room, notBelow]).toEqual([room, []]);
  }
});

test('no room has more than twenty files of its own', () => {
  const filesOf = new Map<string, number>();
  for (const file of sources) filesOf.set(dirname(file), (filesOf.get(dirname(file)) ?? 0) + 1);
  expect([...filesOf].filter(([, count]) => count > 20)).toEqual([]);
});
