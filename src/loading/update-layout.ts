import { setTimeout as delay } from 'node:timers/promises';
import { readSourceFolder } from '../endpoints/sources.ts';
import { readLearned, withLearned } from './events/learned-fields.ts';
import { createLoader } from './loader.ts';
import type { LoadingEvent } from './loading-events.ts';
import { lacksLayout } from './table-layout.ts';

/** Milliseconds between two checks of the loader's work. */
const pollMs = 20;

/**
 * Makes the tables and columns of new or changed sources in the file that queries read, before saved queries use them.
 * @throws Error with the reason if the loader can't
 */
export async function updateLayout(
  databasePath: string,
  sourcesDirectory: string,
  emit: (event: LoadingEvent) => void,
): Promise<void> {
  const { sources: declared } = readSourceFolder(sourcesDirectory);
  const isLacking = () => lacksLayout(databasePath, withLearned(declared, readLearned(databasePath)));
  if (!isLacking()) return;
  const failed = Promise.withResolvers<never>();
  const loader = createLoader({
    databasePath,
    sourcesDirectory,
    emit(event) {
      emit(event);
      if (event.type === 'rows.delayed') failed.reject(new Error(event.message));
      if (event.type === 'loader.stopped') failed.reject(new Error(`The loader ended: ${event.reason}`));
    },
  });
  try {
    loader.wake();
    while (isLacking()) await Promise.race([delay(pollMs), failed.promise]);
  } finally {
    await loader.close();
  }
}
