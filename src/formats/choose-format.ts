import { GatewayError, quoted } from '../base/errors.ts';
import { weightsOf } from '../http-messages/content-negotiation.ts';
import { formatNames, type RowFormat, rowFormats } from './row-formats.ts';

/**
 * Chooses the format of an answer.
 * @param given the parameter `format`. It wins over Accept, which browsers fill in themselves; if it is absent or empty, Accept decides
 * @param accept the request's header
 * @throws GatewayError `invalid_parameter`, `not_acceptable`
 */
export function chooseFormat(given: unknown, accept: string | undefined): RowFormat {
  if (given !== undefined && given !== null && given !== '') {
    const named = formatNames.find(name => name === given);
    if (named) return named;
    throw new GatewayError(
      'invalid_parameter',
      `Parameter "format" is ${quoted(given)}; allowed: ${formatNames.join(', ')}`,
    );
  }
  // Nearly every request.
  if (accept === undefined || accept === '*/*' || accept === 'application/json') return 'json';
  const chosen = acceptedFormat(accept);
  if (chosen) return chosen;
  const offered = formatNames.map(name => rowFormats[name].mediaTypes[0]);
  throw new GatewayError('not_acceptable', `Accept is ${quoted(accept)}; offered: ${offered.join(', ')}`);
}

/** The format with the highest weight; among equal weights, the first in our order of preference. */
function acceptedFormat(accept: string): RowFormat | undefined {
  if (accept.trim() === '') return 'json';
  const weights = weightsOf(accept);
  let best: RowFormat | undefined;
  let highest = 0;
  for (const name of formatNames) {
    const weight = Math.max(...rowFormats[name].mediaTypes.map(type => weightOf(type, weights)));
    if (weight > highest) [best, highest] = [name, weight];
  }
  return best;
}

/** The weight of a media type by RFC 9110, section 12.5.1: the most specific matching range decides, and `q=0` excludes. */
function weightOf(type: string, weights: ReadonlyMap<string, number>): number {
  const weight = weights.get(type) ?? weights.get(`${type.split('/')[0]}/*`) ?? weights.get('*/*') ?? 0;
  return weight > 0 ? weight : 0; // NaN is not a weight
}
