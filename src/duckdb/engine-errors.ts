import { GatewayError } from '../base/errors.ts';
import { failureMark } from '../googlesql/functions/duckdb-macros.ts';
import { EngineGoneError } from './engine-child.ts';
import type { EngineEvent } from './engine-events.ts';

/** DuckDB's kinds of error that come from the query's own values: a bad cast, a bad pattern, an overflow. */
const dataFaults: ReadonlySet<string> = new Set(['Conversion', 'Invalid Input', 'Out of Range']);

/** The beginnings of RE2's errors about a pattern. */
const patternFault =
  /^(missing [\])]|unexpected \)|no argument for|bad repetition|bad number|invalid (escape|character|perl|UTF|named|repetition)|trailing \\|pattern too large)/;

/** What a failure of the engine means to a caller; generated SQL and names of tables never reach one. */
export function toCallersError(
  error: unknown,
  endpoint: string,
  emit: (event: EngineEvent) => void,
): unknown {
  if (error instanceof GatewayError) return error;
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
  const detail = failureOf(words) ?? words;
  if (dataFaults.has(kind) && patternFault.test(detail)) {
    return new GatewayError('invalid_query', `Cannot parse regular expression: ${detail}`, { cause: error });
  }
  const [, zone] = /^Unknown TimeZone '(.*)'/.exec(detail) ?? [];
  if (zone !== undefined)
    return new GatewayError('invalid_query', `Invalid time zone: ${zone}`, { cause: error });
  if (dataFaults.has(kind) && !detail.startsWith('Cannot ')) {
    return new GatewayError('invalid_query', detail.replace(/ when casting from source column .*$/, ''), {
      cause: error,
    });
  }
  if (kind === 'Out of Memory') return outOfMemory();
  if (kind === 'Result') return new GatewayError('result_too_large', detail);
  // The rest are faults of the translation; "Cannot …" comes from the locked configuration.
  emit({ type: 'engine.bug', endpoint, message: error.message });
  return new GatewayError('engine_failed', 'The engine refused the query', { cause: error });
}

/** The message of a check in printed SQL, see `bq_fail`: DuckDB quotes it as a text that is no number. */
function failureOf(words: string): string | undefined {
  const [, message] =
    new RegExp(`^Could not convert string '${failureMark}(.*?)(?:' to INT32.*)?$`).exec(words) ?? [];
  return message;
}

function outOfMemory(): GatewayError {
  return new GatewayError('engine_failed', 'The query needs more memory than it may use');
}
