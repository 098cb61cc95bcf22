import type { ParameterType, QueryParameter } from './engine.ts';

/** What a front-end needs to know about parameters to bind a statement; their values don't matter. */
export type ParameterDeclarations = {
  readonly parameterNames: readonly string[];
  readonly arrayParameterNames: readonly string[];
  /** Those that are not STRING; of lists, the type of an element. */
  readonly parameterTypes: ReadonlyMap<string, ParameterType>;
};

/** The names and types of parameters. */
export function declarationsOf(parameters: readonly QueryParameter[]): ParameterDeclarations {
  return {
    parameterNames: parameters.map(({ name }) => name),
    arrayParameterNames: parameters.filter(({ value }) => Array.isArray(value)).map(({ name }) => name),
    parameterTypes: new Map(parameters.flatMap(({ name, type }) => (type ? [[name, type] as const] : []))),
  };
}
