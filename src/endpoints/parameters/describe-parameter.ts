import type { EndpointDefinition, ParameterDefinition } from '../definition.ts';
import { allowedValues } from './read-parameter.ts';

/** The description of a parameter in OpenAPI and GraphQL: the header's, with the parameter's bounds and those of the endpoint's window. */
export function describeParameter(
  { window }: Pick<EndpointDefinition, 'window'>,
  parameter: ParameterDefinition,
): string {
  const { name } = parameter;
  const description = [parameter.description, ...boundsOf(parameter)].join(' ');
  if (name === window?.start) {
    const before = `before ${window.end}, or before now without one`;
    return `${description} At most ${window.max.text} ${before}; absent: ${window.default.text} before it.`;
  }
  if (name === window?.end) return `${description} Absent: now.`;
  return description;
}

/** Sentences about the allowed values and the default. */
function boundsOf(parameter: ParameterDefinition): string[] {
  const { type, min, max, minLength, maxLength, pattern, default: given } = parameter;
  const isBounded = [min, max, minLength, maxLength, pattern].some(bound => bound !== undefined);
  const isChoice = type !== 'enum' && parameter.values !== undefined;
  return [
    ...(isBounded || isChoice ? [`Allowed: ${allowedValues(parameter)}.`] : []),
    ...(given === undefined ? [] : [`Default: ${[given].flat().join(', ')}.`]),
  ];
}
