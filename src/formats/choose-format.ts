import { GatewayError } from '../base/errors.ts';
import { listStart } from '../http-messages/content-negotiation.ts';
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
    const shown = JSON.stringify(given)?.slice(0, 60);
    throw new GatewayError(
      'invalid_parameter',
      `Parameter "format" is ${shown}; allowed: ${formatNames.join(', ')}`,
    );
  }
  // Nearly every request.
  if (accept === undefined || accept === '*/*' || accept === 'application/json') return 'json';
  const chosen = acceptedFormat(accept);
  if (chosen) return chosen;
  const offered = formatNames.map(name => rowFormats[name].mediaTypes[0]);
  throw new GatewayError(
    'not_acceptable',
    `Accept is ${JSON.stringify(accept.slice(0, 120))}; offered: ${offered.join(', ')}`,
  );
}

type MediaRange = { readonly type: string; readonly quality: number };

/** The format with the highest weight; among equal weights, the first in our order of preference. */
function acceptedFormat(accept: string): RowFormat | undefined {
  if (accept.trim() === '') return 'json';
  const ranges = listStart(accept).split(',').map(readRange);
  let best: RowFormat | undefined;
  let bestQuality = 0;
  for (const name of formatNames) {
    const quality = Math.max(...rowFormats[name].mediaTypes.map(type => qualityOf(type, ranges)));
    if (quality > bestQuality) [best, bestQuality] = [name, quality];
  }
  return best;
}

/** Parses a media range. Parameters other than the weight are ignored: clients send `application/json; charset=utf-8`. */
function readRange(text: string): MediaRange {
  const [type = '', ...parameters] = text.split(';').map(part => part.trim().toLowerCase());
  const weight = parameters.find(parameter => parameter.startsWith('q='))?.slice(2) ?? '1';
  return { type, quality: Number(weight) };
}

/** The weight of a media type by RFC 9110, section 12.5.1: the most specific matching range decides, and `q=0` excludes. */
function qualityOf(type: string, ranges: readonly MediaRange[]): number {
  const matching = [type, `${type.split('/')[0]}/*`, '*/*'];
  for (const pattern of matching) {
    const found = ranges.find(range => range.type === pattern);
    if (found) return found.quality > 0 ? found.quality : 0; // NaN is not a weight
  }
  return 0;
}
