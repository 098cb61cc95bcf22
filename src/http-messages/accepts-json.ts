/**
 * Whether an Accept header allows `application/json` (RFC 9110, section 12.5.1): the most specific range that
 * matches decides, and `q=0` excludes.
 */
export function acceptsJson(accept: string | undefined): boolean {
  if (accept === undefined || accept.trim() === '') return true;
  let best = { rank: -1, quality: 0 };
  for (const range of accept.split(',')) {
    const [type = '', ...parameters] = range.split(';').map(part => part.trim().toLowerCase());
    const rank = ['*/*', 'application/*', 'application/json'].indexOf(type);
    if (rank <= best.rank) continue;
    const quality = parameters.find(parameter => parameter.startsWith('q='))?.slice(2) ?? '1';
    best = { rank, quality: Number(quality) };
  }
  return best.quality > 0;
}
