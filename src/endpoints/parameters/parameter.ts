import type { ParameterType } from '../../engine/engine.ts';

/** Types whose values are texts to the SQL too: `timestamp` is canonical text, for SQL that casts it itself. */
export const textTypes = ['string', 'enum', 'timestamp', 'regexp'] as const;

/** A parameter of a saved query. All values are canonical texts, those of a repeated parameter lists of them. */
export type Parameter = {
  readonly type: (typeof textTypes)[number] | ParameterType;
  readonly description: string;
  /** Whether the value is an array; without a value it is empty, never NULL. */
  readonly repeated: boolean;
  readonly required: boolean;
  /** Stands where no value is sent. */
  readonly default?: ParameterValue | undefined;
  readonly min?: string | undefined;
  readonly max?: string | undefined;
  /** Code points of the text. */
  readonly minLength?: number | undefined;
  readonly maxLength?: number | undefined;
  /** RE2; the text must contain a match. */
  readonly pattern?: string | undefined;
  /** The only values that are allowed. */
  readonly values?: readonly string[] | undefined;
  /**
   * Other texts that callers may send, each with the value that the query gets: one of `values`, or the same text, for a value that only
   * the SQL knows. No schema lists them.
   */
  readonly aliases?: Readonly<Record<string, string>> | undefined;
  readonly examples?: readonly ParameterValue[] | undefined;
  /** Name of an enum in GraphQL. */
  readonly typeName?: string | undefined;
};

export type ParameterValue = string | readonly string[];
