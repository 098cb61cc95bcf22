import type { QueryParameter } from '../../engine/engine.ts';
import type { ParameterDefinition } from '../definition.ts';
import { scalarTypeOf } from './read-parameter.ts';

/** A value of a parameter, with the type that the SQL sees. */
export function typedParameter(
  name: string,
  declared: Pick<ParameterDefinition, 'type'> | undefined,
  value: QueryParameter['value'],
): QueryParameter {
  const type = scalarTypeOf(declared ?? { type: 'string' });
  return type === 'STRING' ? { name, value } : { name, value, type };
}

/** A parameter that has no value: NULL, or no elements. */
export function withoutValue(
  declared: Pick<ParameterDefinition, 'name' | 'type' | 'repeated'>,
): QueryParameter {
  return typedParameter(declared.name, declared, declared.repeated ? [] : null);
}
