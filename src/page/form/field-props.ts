import type { Parameter } from '../api/catalogue.ts';

/** The props of every field of the form. */
export type FieldProps = {
  readonly parameter: Parameter;
  readonly value: string | readonly string[];
  readonly onChange: (value: string | readonly string[], isFinal?: boolean) => void;
};
