import type { EndpointEvent } from './endpoint-events.ts';
import { DefinitionError } from './parse-definition.ts';
import { namesOf, readSourceFolder } from './sources.ts';
import { watchFolder } from './watch-folder.ts';

/** What is wrong with the files of sources. */
export type SourceWatch = {
  /** As the files are now: a source that broke after the start is served as it was. */
  readonly broken: readonly DefinitionError[];
  /** Whether a source has no table here, for its file was wrong at the start. */
  isLeftOut(name: string): boolean;
  /** What a check of a saved query threw, with a word on tables that are not there because their source came after the start. */
  withNewSources(error: unknown): unknown;
  close(): void;
};

/** Reports files of sources that are wrong: those that are left out at the start, and later those that the next start would leave out. */
export function watchSources(directory: string, emit: (event: EndpointEvent) => void): SourceWatch {
  let broken: readonly DefinitionError[] = [];
  const namesNow = () => new Set(readSourceFolder(directory).sources.map(({ name }) => name));
  const look = () => {
    const before = new Set(broken.map(({ message }) => message));
    ({ broken } = readSourceFolder(directory));
    for (const { file, message } of broken) {
      if (!before.has(message)) emit({ type: 'source.broken', file, message });
    }
  };
  look();
  const leftOut = namesOf(broken);
  const namesAtStart = namesNow();
  const watcher = watchFolder(directory, {
    onChange: async () => look(),
    onFailed: ({ message }) => emit({ type: 'source.broken', file: directory, message }),
  });
  return {
    get broken() {
      return broken;
    },
    isLeftOut: name => leftOut.has(name),
    withNewSources(error) {
      if (!(error instanceof DefinitionError)) return error;
      const problems = error.problems.map(problem => {
        const table = /Table not found: ([^;]+?)(?:;|$| at \[)/.exec(problem.message)?.[1];
        const isNew = table !== undefined && !namesAtStart.has(table) && namesNow().has(table);
        const message = `${problem.message}; the source came after the start: a restart makes its table`;
        return isNew ? { ...problem, message } : problem;
      });
      return new DefinitionError(error.file, problems);
    },
    close: () => watcher.close(),
  };
}
