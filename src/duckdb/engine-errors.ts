import { GatewayError, shortened } from '../base/errors.ts';
import { failureMark } from '../googlesql/functions/duckdb-macros.ts';
import { damagedPlace } from './data-folder/damaged-block.ts';
import { EngineGoneError } from './engine-child.ts';
import type { EngineEvent } from './engine-events.ts';

/** DuckDB's error types that are caused by the query's own values: a bad cast, a bad pattern, an overflow. */
const dataFaults: ReadonlySet<string> = new Set(['Conversion', 'Invalid Input', 'Out of Range']);

/** The beginnings of RE2's errors about a pattern. */
const patternFault =
  /^(missing [\])]|unexpected \)|no argument for|bad repetition|bad number|invalid (escape|character|perl|UTF|named|repetition)|trailing \\|pattern too large)/;

/** Translates a failure of the engine for a caller, who never sees generated SQL or names of tables. */
export function toCallersError(
  error: unknown,
  endpoint: string,
  emit: (event: EngineEvent) => void,
): unknown {
  if (error instanceof GatewayError) return error;
  const place = damagedPlace(error);
  if (place !== undefined) {
    emit({ type: 'database.unreadable', place });
    return new GatewayError(
      'unavailable',
      'A file of the database is damaged; the other one takes its place',
      {
        cause: error,
        isSourceFailure: true,
      },
    );
  }
  if (error instanceof EngineGoneError) {
    if (error.why === 'out of memory') return outOfMemory();
    if (error.why === 'crash') {
      return new GatewayError('engine_failed', 'The engine ended while it ran the query', { cause: error });
    }
    return new GatewayError('unavailable', 'The engine has stopped and is starting again', { cause: error });
  }
  if (!(error instanceof Error)) return error;
  if (error.name === 'AbortError') {
    return new GatewayError('cancelled', 'Nobody waits for the answer any more', { cause: error });
  }
  const [, kind = '', words = ''] = /^([\w ]+?) Error: ([^\n]*)/.exec(error.message) ?? [];
  const own = failureOf(words);
  if (own === undefined && dataFaults.has(kind) && patternFault.test(words))
    return valueFault(`Cannot parse regular expression: ${words}`, error);
  const said = own ?? (dataFaults.has(kind) ? callersWords(words) : undefined);
  if (said !== undefined) return valueFault(said, error);
  // DuckDB's windows and outer joins can't see columns of an enclosing query, and its keys of GROUP BY lose a struct's names.
  if (
    /^(?:Binder|Not implemented)$/.test(kind) &&
    /correlated|join on subquery|struct pack|window expression is not supported|in the root subquery/i.test(
      words,
    )
  )
    return new GatewayError('invalid_query', 'A correlated subquery of this kind is not supported', {
      cause: error,
    });
  if (kind === 'Out of Memory') return outOfMemory();
  if (kind === 'Result') return new GatewayError('result_too_large', words);
  // The rest are bugs of the translation; "Cannot …" comes from the locked configuration.
  emit({ type: 'engine.bug', endpoint, message: error.message });
  return new GatewayError('engine_failed', 'The engine refused the query', { cause: error });
}

/** A fault of the query's own values, which its message may repeat: one has up to a megabyte. */
function valueFault(message: string, cause: Error): GatewayError {
  return new GatewayError('invalid_query', shortened(message), { cause });
}

/** The message of a check in printed SQL (`bq_fail`) or of one of our functions; DuckDB quotes the former as text that is not a number. */
function failureOf(words: string): string | undefined {
  const checked = new RegExp(`^Could not convert string '${failureMark}(.*?)(?:' to INT32.*)?$`).exec(words);
  return checked?.[1] ?? new RegExp(`^${failureMark}(.*)$`).exec(words)?.[1];
}

/** DuckDB's messages about a query's own values, and BigQuery's. */
const faultWords: readonly (readonly [RegExp, string])[] = [
  [/^Overflow in \w+ of INT64 \((.*)\)!?$/, 'int64 overflow: $1'],
  [/^Overflow (?:on|in) (?:abs|negation of INT64 ?)\(?(-?\d+)\)?!?$/i, 'int64 overflow: -$1'],
  [/^Overflow in division of (.*)$/, 'int64 overflow: $1'],
  [/^Overflow in negation of .*$/, 'int64 overflow'],
  [/^Overflow in .*(?:DECIMAL|HUGEINT).*$/, 'numeric overflow'],
  [/^Type INT128 with value (\S+) can't be cast.*$/, 'int64 overflow: $1'],
  [/^Type \S+ with value (\S+) can't be cast.* type INT64$/, 'int64 out of range: $1'],
  [/^Failed to cast decimal value (\S+) to type INT64$/, 'int64 out of range: $1'],
  [/^Type \S+ with value (\S+) can't be cast.*$/, 'The value $1 is out of range'],
  [/^(?:Could not cast|Casting) value "?(\S+?)"? to DECIMAL.*$/, 'numeric out of range: $1'],
  [/^Could not convert string ['"]not a number: (.*)['"] to DOUBLE.*$/, 'Bad double value: $1'],
  [/^Could not convert string ['"](?:not a number: )?(.*)['"] to DECIMAL.*$/, 'Invalid NUMERIC value: $1'],
  [/^Could not convert string ['"](.*)['"] to INT64.*$/, 'Bad int64 value: $1'],
  [/^.*"not a supported TIMESTAMP: (.*?)(?:", expected.*)?$/, "Invalid timestamp: '$1'"],
  [/^.*"not a supported DATE: (.*?)(?:", expected.*)?$/, "Invalid date: '$1'"],
  [/^.*"not a supported (DATETIME|TIME): (.*?)(?:", expected.*)?$/, 'Invalid $1 string "$2"'],
  [/^(?:timestamp|date|time) field .*?"([^"]*)".*$/, "Invalid date or time: '$1'"],
  [
    /^Could not parse string "(.*?)"? ?(?:according to format specifier.*)?$/,
    'Failed to parse input string "$1"',
  ],
  [/^More than one row returned by a subquery.*$/, 'Scalar subquery produced more than one element'],
  [/^cannot take square root of a negative number$/i, 'Argument to SQRT cannot be negative'],
  [/^cannot take logarithm of .*$/i, 'Floating point error in function: LOG'],
  [/^Invalid UTF8 Codepoint (-?\d+)$/i, 'Invalid codepoint $1'],
  [/^(Date|Time) out of range: (.*)$/, 'Input calculates to invalid date or time: $2'],
  [
    /^(?:Timestamp|ICU date|Date|Interval|Overflow).*(?:range|overflow).*$/i,
    'A date or time is out of range',
  ],
  [/^Failure in decode.*$/, 'Invalid cast of bytes to UTF8 string'],
  [/^\S+ is out of range!?$/, 'Floating point overflow'],
];

/** The message for the caller about a query's values; undefined for messages of the locked configuration. */
function callersWords(words: string): string | undefined {
  for (const [pattern, text] of faultWords) {
    if (pattern.test(words)) return words.replace(pattern, text);
  }
  return words.startsWith('Cannot ')
    ? undefined
    : 'A value is out of range, or is not one that its function accepts';
}

function outOfMemory(): GatewayError {
  return new GatewayError('engine_failed', 'The query needs more memory than it may use');
}
