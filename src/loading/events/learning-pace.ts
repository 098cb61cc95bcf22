import type { SourceFields } from '../../endpoints/source.ts';
import { mergeFields } from './learned-fields.ts';

/**
 * Limits how fast sources learn fields. Learning a field of a record rewrites the whole column, in both files of the database: for a large
 * table that takes minutes, during which nothing else is stored. So a source then pauses; the fields that it would have learned meanwhile
 * wait, and are then learned together.
 */
export type LearningPace = {
  /** Whether a source may learn fields of its records now. */
  mayLearn(source: string): boolean;
  /** Fields that wait to be learned. */
  waiting(source: string): SourceFields | undefined;
  /** Adds fields that wait. */
  postpone(source: string, fields: SourceFields): void;
  /** Removes waiting fields, which are now learned. */
  clear(source: string): void;
  /** Records that a table's columns were rewritten, which took `ms` milliseconds. */
  rewritten(source: string, ms: number): void;
};

/** The pause is this many times as long as the rewriting; there is none after less than a second. */
const pauseFactor = 20;
const freeMs = 1000;

/** Makes the pace of a process that accepts events; it is not shared with other processes. */
export function createLearningPace(now: () => number = () => performance.now()): LearningPace {
  const pausedUntilMs = new Map<string, number>();
  const postponed = new Map<string, SourceFields>();
  return {
    mayLearn: source => now() >= (pausedUntilMs.get(source) ?? 0),
    waiting: source => postponed.get(source),
    postpone(source, fields) {
      postponed.set(source, mergeFields(postponed.get(source) ?? {}, fields));
    },
    clear: source => void postponed.delete(source),
    rewritten(source, ms) {
      if (ms >= freeMs) pausedUntilMs.set(source, now() + pauseFactor * ms);
    },
  };
}
