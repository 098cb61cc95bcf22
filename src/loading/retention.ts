import type { Clock } from '../base/clock.ts';
import type { Source } from '../endpoints/source.ts';
import type { LoadingEvent } from './loading-events.ts';

/** Retention of sources without their own; absent: everything is kept. */
export type Retention = { readonly days?: number | undefined; readonly megabytes?: number | undefined };

/** The sources, with this retention where they have none. */
export function withRetention(sources: readonly Source[], { days, megabytes }: Retention): Source[] {
  return sources.map(source =>
    source.time === undefined || source.files
      ? source
      : {
          ...source,
          retentionDays: source.retentionDays ?? days,
          retentionMb: source.retentionMb ?? megabytes,
        },
  );
}

/** Milliseconds by which the system's clock may be set ahead at once. */
const maxLeapMs = 3_600_000;

/** Milliseconds after which a clock that was set further ahead is believed. */
const doubtMs = 86_400_000;

/**
 * Makes the clock of retention: a system clock that is set ahead would remove rows that nothing brings back. An operator who set it by
 * mistake, or a time server that was wrong, has a day to correct it.
 * @returns the time in milliseconds since 1970; to be called at least once an hour
 */
export function createRetentionClock(clock: Clock, emit: (event: LoadingEvent) => void): () => number {
  const read = () => ({ wallMs: clock.now(), steadyMs: clock.steady?.() ?? clock.now() });
  const start = read();
  /** What must be added to the steady clock to give the believed time. */
  let lackingMs = start.wallMs - start.steadyMs;
  let doubtedSinceMs: number | undefined;
  return () => {
    const { wallMs, steadyMs } = read();
    const aheadMs = wallMs - steadyMs - lackingMs;
    const isDoubtful = aheadMs > maxLeapMs && steadyMs - (doubtedSinceMs ?? steadyMs) < doubtMs;
    if (!isDoubtful) {
      lackingMs += aheadMs;
      doubtedSinceMs = undefined;
      return wallMs;
    }
    if (doubtedSinceMs === undefined) emit({ type: 'clock.doubted', aheadMs });
    doubtedSinceMs ??= steadyMs;
    return steadyMs + lackingMs;
  };
}
