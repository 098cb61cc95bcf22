import type { Parameter } from '../api/catalogue.ts';

/** What every field of the form gets. */
export type FieldProps = {
  readonly parameter: Parameter;
  readonly value: string | readonly string[];
  readonly onChange: (value: string | readonly string[], isFinal?: boolean) => void;
};
