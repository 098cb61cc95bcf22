import type { EndpointEvent } from './endpoint-events.ts';
import { DefinitionError } from './parse-definition.ts';
import { namesOf, readSourceFolder } from './sources.ts';
import { watchFolder } from './watch-folder.ts';

/** The problems of the files of sources. */
export type SourceWatch = {
  /** Files that are broken now; a source whose file broke after the start is served as before. */
  readonly broken: readonly DefinitionError[];
  /** Whether a source has no table here because its file was broken at start. */
  isLeftOut(name: string): boolean;
  /** Adds to an error of checking a saved query a note on tables that are missing because their source was added after the start. */
  withNewSources(error: unknown): unknown;
  close(): void;
};

/** Reports broken files of sources: those left out at start, and later those that the next start would leave out. */
export function watchSources(
  directory: string,
  emit: (event: EndpointEvent) => void,
  { takesNew }: { readonly takesNew: boolean },
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
        const made = source.files ? 'its files are being opened' : 'its table is being made';
        const until = takesNew ? made : 'a restart makes its table';
        return { ...problem, message: `${problem.message}; the source came after the start: ${until}` };
      });
      return new DefinitionError(error.file, problems);
    },
    close: () => watcher.close(),
  };
}
