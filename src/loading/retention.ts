import type { Source } from '../endpoints/source.ts';

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
