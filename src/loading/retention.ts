import type { Source } from '../endpoints/sources.ts';

/** What sources keep that say nothing of it themselves; absent: everything. */
export type Retention = { readonly days?: number | undefined; readonly megabytes?: number | undefined };

/** The sources, with what they keep. */
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
