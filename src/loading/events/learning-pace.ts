import type { SourceFields } from '../../endpoints/sources.ts';
import { mergeFields } from './learned-fields.ts';

/**
 * How fast sources learn. A field of a record that is learned has its whole column rewritten, in both files of the database: for a large
 * table that takes minutes, in which nothing else is stored. So a source then rests, and what it would have learned meanwhile waits, to be
 * learned at once.
 */
export type LearningPace = {
  /** Whether a source may learn fields of its records now. */
  mayLearn(source: string): boolean;
  /** Fields that wait to be learned. */
  waiting(source: string): SourceFields | undefined;
  /** Lets fields wait. */
  postpone(source: string, fields: SourceFields): void;
  /** Fields that waited are learned now. */
  clear(source: string): void;
  /** A table's columns were rewritten, which took `ms` milliseconds. */
  rewritten(source: string, ms: number): void;
};

/** A rest is this many times as long as the rewriting took; there is none after less than a second. */
const restFactor = 20;
const freeMs = 1000;

/** Makes the pace of a process that takes events; it is the only one that knows of it. */
export function createLearningPace(now: () => number = () => performance.now()): LearningPace {
  const restsUntilMs = new Map<string, number>();
  const postponed = new Map<string, SourceFields>();
  return {
    mayLearn: source => now() >= (restsUntilMs.get(source) ?? 0),
    waiting: source => postponed.get(source),
    postpone(source, fields) {
      postponed.set(source, mergeFields(postponed.get(source) ?? {}, fields));
    },
    clear: source => void postponed.delete(source),
    rewritten(source, ms) {
      if (ms >= freeMs) restsUntilMs.set(source, now() + restFactor * ms);
    },
  };
}
