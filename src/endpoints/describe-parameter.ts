import type { EndpointDefinition, ParameterDefinition } from './definition.ts';

/** The description of a parameter in OpenAPI and GraphQL: that of the header, and the bounds of the endpoint's window. */
export function describeParameter(
  { window }: Pick<EndpointDefinition, 'window'>,
  { name, description }: Pick<ParameterDefinition, 'name' | 'description'>,
): string {
  if (name === window?.start) {
    const before = `before ${window.end}, or before now without one`;
    return `${description} At most ${window.max.text} ${before}; absent: ${window.default.text} before it.`;
  }
  if (name === window?.end) return `${description} Absent: now.`;
  return description;
}
