import { addressParameters, requestFields } from './discovery-fields.ts';
import { Refusal } from './refusal.ts';
import type { Asked } from './warehouse-http.ts';

/**
 * Refuses what BigQuery's schema has no place for, as Google's servers do before they look at anything else.
 * @throws Refusal 400 that names the field
 */
export function checkRequest({ what, params, body }: Asked): void {
  const known = addressParameters[what]?.split(' ') ?? [];
  for (const name of params.keys()) {
    if (known.includes(name)) continue;
    throw unknownName(
      `${JSON.stringify(name)}: Cannot bind query parameter. Field '${name}' could not be found in request message.`,
    );
  }
  if (!body) return;
  if (body.configuration) checkFields(body, 'Job', 'job');
  else checkFields(body, 'QueryRequest', 'query_request');
}

function checkFields(value: unknown, type: string, path: string): void {
  if (typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    for (const [at, element] of value.entries()) checkFields(element, type, `${path}[${at}]`);
    return;
  }
  const known = new Map<string, string>();
  for (const field of requestFields[type]?.split(' ') ?? []) {
    const [name = '', inner = ''] = field.split(':');
    known.set(name, inner);
  }
  for (const [name, inner] of Object.entries(value)) {
    const innerType = known.get(name);
    if (innerType === undefined)
      throw unknownName(`${JSON.stringify(name)} at '${path}': Cannot find field.`);
    if (innerType) checkFields(inner, innerType, `${path}.${name}`);
  }
}

function unknownName(what: string): Refusal {
  return new Refusal(400, 'badRequest', `Invalid JSON payload received. Unknown name ${what}`);
}
