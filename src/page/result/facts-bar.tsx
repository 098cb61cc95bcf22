import type { ComponentChildren } from 'preact';
import type { Facts } from '../api/client.ts';
import { formatBytes, formatSeconds } from './format.ts';

type FactsBarProps = {
  readonly facts: Facts;
  readonly onFresh: () => void;
  readonly rowCount: number;
  readonly shownCount: number;
  /** Further facts about the rows. */
  readonly children?: ComponentChildren;
};

const cacheWords: Readonly<Record<string, string>> = {
  HIT: 'from the cache',
  STALE: 'from the cache, stale',
  MISS: 'fresh, now in the cache',
  BYPASS: 'fresh, not cached',
};

/** Where an answer came from, how old it is, what it cost, and whether rows are missing. */
export function FactsBar({ facts, rowCount, shownCount, onFresh, children }: FactsBarProps) {
  const { cache, ageSeconds, ms, bytes, cutAt, receipt, timing, requestId } = facts;
  const title = [timing && `Server-Timing: ${timing}`, requestId && `X-Request-Id: ${requestId}`]
    .filter(Boolean)
    .join('\n');
  return (
    <div class="facts" title={title}>
      <span class="fact">
        {shownCount < rowCount && `${shownCount.toLocaleString('en-US')} of `}
        <b>{rowCount.toLocaleString('en-US')}</b> {rowCount === 1 ? 'row' : 'rows'}
      </span>
      {cutAt !== undefined && (
        <span class="fact cut" role="status">
          Cut at {cutAt.toLocaleString('en-US')} rows: there are more
        </span>
      )}
      {children}
      <span class="fact">
        <b>{Math.round(ms).toLocaleString('en-US')} ms</b>, {formatBytes(bytes)}
      </span>
      <span class={`fact cache-${cache.toLowerCase()}`} data-cache={cache}>
        {cacheWords[cache] ?? cache}
        {ageSeconds !== undefined && cache !== 'MISS' && `, ${formatSeconds(ageSeconds)} old`}
      </span>
      {['HIT', 'STALE'].includes(cache) && (
        <button type="button" class="link" onClick={onFresh}>
          Run again
        </button>
      )}
      {receipt && <span class="fact">{costOf(receipt)}</span>}
    </div>
  );
}

/** `Query-Receipt` is a dictionary of RFC 9651. */
function costOf(receipt: string): string {
  const number = (name: string) => new RegExp(`${name}=(\\d+)`).exec(receipt)?.[1];
  const read = number('bytes-processed');
  const billed = number('bytes-billed');
  return [read && `${formatBytes(Number(read))} read`, billed && `${formatBytes(Number(billed))} billed`]
    .filter(Boolean)
    .join(', ');
}
