import { readTemporal } from '../../times/read-temporal.ts';
import { readZone } from '../../times/read-zone.ts';
import type { BindContext } from '../../tree/bind-context.ts';
import type { CallSyntax, Expression } from '../../tree/syntax-tree.ts';
import { patternProblem, patternSize } from '../../values/patterns.ts';
import { isInvalidPattern } from '../../values/regexp-values.ts';
import { countGroups, wrongReplacement } from './functions-string.ts';

/** A constant argument for which a call always fails, and one of the same type for which it does not. */
type ConstantFault = { readonly index: number; readonly instead: Expression };

/** The positions of time zone arguments of functions. */
const zoneIndexes: Readonly<Record<string, number>> = {
  ...Object.fromEntries(['TIMESTAMP', 'DATETIME', 'DATE', 'TIME', 'STRING'].map(name => [name, 1])),
  ...Object.fromEntries(['FORMAT_TIMESTAMP', 'PARSE_TIMESTAMP'].map(name => [name, 2])),
  ...Object.fromEntries(['TIMESTAMP_TRUNC', 'DATETIME_TRUNC'].map(name => [name, 2])),
};

const isZoneFault = (text: string) => readZone(text) === undefined;

/**
 * Finds an argument for which a call fails in every row: without SAFE the query is refused before it runs, with SAFE the call is NULL.
 * @param name in upper case, without SAFE
 * @throws GatewayError `invalid_query` if the patterns of such calls are too large together
 */
export function constantFault(
  { statement }: Pick<BindContext, 'statement'>,
  { arguments: values, at }: CallSyntax,
  name: string,
): ConstantFault | undefined {
  const find = (
    index: number,
    isFault: (text: string) => boolean,
    instead: string,
  ): ConstantFault | undefined => {
    const value = values[index];
    if (value?.kind !== 'literal' || value.type !== 'STRING' || !isFault(value.value)) return undefined;
    return { index, instead: { ...value, value: instead } };
  };
  if (name.startsWith('REGEXP_')) {
    const pattern = values[1]?.kind === 'literal' ? values[1].value : '';
    const isCompiledFault = (text: string) => {
      // A pattern that is too large stays refused.
      if (patternProblem(text) !== undefined) return false;
      statement.count('safeInstructions', patternSize(text), at);
      return isPatternFault(text, name);
    };
    return (
      find(1, isCompiledFault, '') ??
      (name === 'REGEXP_REPLACE'
        ? find(2, text => wrongReplacement(text, pattern) !== undefined, '')
        : undefined)
    );
  }
  const zone = zoneIndexes[name];
  if (zone === undefined) return undefined;
  const isAlone = values.length === 1;
  const readsText = name === 'TIMESTAMP' || (name === 'DATETIME' && isAlone);
  return (
    find(zone, isZoneFault, 'UTC') ??
    (readsText
      ? find(0, text => readTemporal(text, isAlone ? name : 'DATETIME') === undefined, '1970-01-01')
      : undefined)
  );
}

function isPatternFault(pattern: string, name: string): boolean {
  const takesOneGroup = name !== 'REGEXP_CONTAINS' && name !== 'REGEXP_REPLACE';
  // `\C` is refused for another reason.
  const known = pattern.replace(/\\[\s\S]/g, pair => (pair === '\\C' ? '.' : pair));
  return isInvalidPattern(known) || (takesOneGroup && countGroups(pattern) > 1);
}
