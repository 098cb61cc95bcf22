/**
 * Whether parsed JSON has more than `max` values, lists and objects included. Checking or printing often takes microseconds per value,
 * so a megabyte of them would hold the event loop for a second.
 */
export function hasMoreValues(roots: readonly unknown[], max: number): boolean {
  const left = [...roots];
  for (let values = 0; left.length > 0; ) {
    const value = left.pop();
    if (typeof value !== 'object' || value === null) continue;
    const inner = Object.values(value);
    values += inner.length;
    if (values > max) return true;
    for (const each of inner) left.push(each);
  }
  return false;
}
