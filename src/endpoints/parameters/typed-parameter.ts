import type { QueryParameter } from '../../engine/engine.ts';
import type { ParameterDefinition } from '../definition.ts';
import { scalarTypeOf } from './read-parameter.ts';

/** A parameter's value with its type in the SQL. */
export function typedParameter(
  name: string,
  declared: Pick<ParameterDefinition, 'type'> | undefined,
  value: QueryParameter['value'],
): QueryParameter {
  const type = scalarTypeOf(declared ?? { type: 'string' });
  return type === 'STRING' ? { name, value } : { name, value, type };
}

/** A parameter without a value: NULL, or an empty list. */
export function withoutValue(
  declared: Pick<ParameterDefinition, 'name' | 'type' | 'repeated'>,
): QueryParameter {
  return typedParameter(declared.name, declared, declared.repeated ? [] : null);
}
