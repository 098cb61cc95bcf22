import type { EndpointEvent } from '../endpoint-events.ts';
import type { DefinitionError } from '../parse-definition.ts';
import { namesOf, readSourceFolder } from '../sources.ts';
import { watchFolder } from './watch-folder.ts';

/** What is wrong with the files of sources. */
export type SourceWatch = {
  /** As the files are now: a source that broke after the start is served as it was. */
  readonly broken: readonly DefinitionError[];
  /** Whether a source has no table here, for its file was wrong at the start. */
  isLeftOut(name: string): boolean;
  close(): void;
};

/** Reports files of sources that are wrong: those that are left out at the start, and later those that the next start would leave out. */
export function watchSources(directory: string, emit: (event: EndpointEvent) => void): SourceWatch {
  let broken: readonly DefinitionError[] = [];
  const look = () => {
    const before = new Set(broken.map(({ message }) => message));
    ({ broken } = readSourceFolder(directory));
    for (const { file, message } of broken) {
      if (!before.has(message)) emit({ type: 'source.broken', file, message });
    }
  };
  look();
  const leftOut = namesOf(broken);
  const watcher = watchFolder(directory, {
    onChange: async () => look(),
    onFailed: ({ message }) => emit({ type: 'source.broken', file: directory, message }),
  });
  return {
    get broken() {
      return broken;
    },
    isLeftOut: name => leftOut.has(name),
    close: () => watcher.close(),
  };
}
