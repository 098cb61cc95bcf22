import type { EndpointDefinition, ParameterDefinition } from './definition.ts';

/** What OpenAPI and GraphQL say of a parameter: the header's description, and what the endpoint's window makes of it. */
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
