import type { ParameterType } from '../../engine/engine.ts';

/** Types whose values are STRING in the SQL: `timestamp` is canonical text, for SQL that casts it itself. */
export const textTypes = ['string', 'enum', 'timestamp', 'regexp'] as const;

/** A parameter of a saved query. Values are canonical texts; those of a repeated parameter are lists of them. */
export type Parameter = {
  readonly type: (typeof textTypes)[number] | ParameterType;
  readonly description: string;
  /** Whether the value is an array; without a value it is empty, never NULL. */
  readonly repeated: boolean;
  readonly required: boolean;
  /** The value if none is sent. */
  readonly default?: ParameterValue | undefined;
  readonly min?: string | undefined;
  readonly max?: string | undefined;
  /** Minimum and maximum code points of the text. */
  readonly minLength?: number | undefined;
  readonly maxLength?: number | undefined;
  /** An RE2 pattern; the text must contain a match. */
  readonly pattern?: string | undefined;
  /** The only values that are allowed. */
  readonly values?: readonly string[] | undefined;
  /**
   * Other texts that callers may send, each with the value that the query receives: one of `values`, or the same text if only the SQL
   * knows its meaning. No schema lists them.
   */
  readonly aliases?: Readonly<Record<string, string>> | undefined;
  readonly examples?: readonly ParameterValue[] | undefined;
  /** Name of an enum in GraphQL. */
  readonly typeName?: string | undefined;
};

export type ParameterValue = string | readonly string[];
