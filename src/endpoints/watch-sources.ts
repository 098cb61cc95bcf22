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
export function watchSources(
  directory: string,
  emit: (event: EndpointEvent) => void,
  { makesTables }: { readonly makesTables: boolean },
): SourceWatch {
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
  const namesAtStart = new Set(readSourceFolder(directory).sources.map(({ name }) => name));
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
        if (table === undefined || namesAtStart.has(table)) return problem;
        const source = readSourceFolder(directory).sources.find(({ name }) => name === table);
        if (!source) return problem;
        const until = makesTables && !source.files ? 'its table is being made' : 'a restart makes its table';
        return { ...problem, message: `${problem.message}; the source came after the start: ${until}` };
      });
      return new DefinitionError(error.file, problems);
    },
    close: () => watcher.close(),
  };
}
