import { keptDigits } from '../../base/exact-json.ts';

/** Whether a value is a JSON object; a number with all its digits is none. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && keptDigits(value) === undefined
  );
}
