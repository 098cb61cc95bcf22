import type { SpecialFunction } from '../tree/bind-context.ts';
import { cast, coerce } from '../tree/coercion.ts';
import { constantText } from '../tree/constant-text.ts';
import { quoteText } from '../tree/quote-text.ts';
import { scalar } from '../tree/types.ts';
import { formatTemplate, parseFormats } from './date-formats.ts';
import { argument, arity, civilTime, timeCall, zoneArgument } from './time-arguments.ts';

/** `FORMAT_…` of a kind; the format is a constant. */
export function formatting(kind: 'TIMESTAMP' | 'DATETIME' | 'DATE'): SpecialFunction {
  return (context, syntax) => {
    arity(syntax, 2, kind === 'TIMESTAMP' ? 3 : 2);
    const format = constantText(`The format of FORMAT_${kind}`, syntax.arguments[0], syntax.at);
    const value = argument(context, syntax, 1, kind);
    const zone = zoneArgument(context, syntax, 2);
    const civil =
      kind === 'TIMESTAMP' ? civilTime(value, zone) : coerce(value, scalar('DATETIME'), syntax.at);
    const isUtc = kind === 'TIMESTAMP' && zone.isUtc;
    return timeCall(`FORMAT_${kind}`, formatTemplate(format, { kind, isUtc }, syntax.at), [civil], 'STRING');
  };
}

/** `PARSE_…` of a kind; the format is a constant. */
export function parsing(kind: 'TIMESTAMP' | 'DATETIME' | 'DATE'): SpecialFunction {
  return (context, syntax) => {
    arity(syntax, 2, kind === 'TIMESTAMP' ? 3 : 2);
    const text = constantText(`The format of PARSE_${kind}`, syntax.arguments[0], syntax.at);
    const formats = parseFormats(text, kind, syntax.at);
    const strptime = `strptime($1, [${formats.map(f => quoteText(f).replaceAll('$', '$$$$')).join(', ')}])`;
    const value = argument(context, syntax, 1, 'STRING');
    const zone = zoneArgument(context, syntax, 2);
    const parsed = timeCall('strptime', strptime, [value], 'DATETIME');
    if (kind === 'DATE') return cast(parsed, scalar('DATE'), false, syntax.at);
    if (kind === 'DATETIME') return parsed;
    // With %z DuckDB's strptime answers a TIMESTAMPTZ at once.
    if (formats.some(format => format.includes('%z')))
      return timeCall('PARSE_TIMESTAMP', strptime, [value], 'TIMESTAMP');
    return timeCall('PARSE_TIMESTAMP', zone.instant('$1'), [parsed, ...zone.values], 'TIMESTAMP');
  };
}
