import { shownFormats } from '../client/query-command.ts';
import { UsageError } from '../command-line.ts';

const shells = ['bash', 'zsh', 'fish'];

/** Words that may follow a command. */
const following: Record<string, readonly string[]> = {
  query: ['--sql', '--format', '--watch', '--every', '--url', '--token', '--param', '--project', '--help'],
  mcp: ['--url', '--token'],
  endpoint: ['new', 'lint', 'test', 'explain'],
  source: ['add', 'list', 'check', 'drop'],
  token: ['issue', 'list', 'show', 'rotate', 'revoke'],
  cache: ['invalidate'],
  doctor: ['--json'],
  completion: shells,
};

/** Commands that take the name of a saved query; a batch form is part of another one. */
const named = ['query', 'cache', 'endpoint'];
const names = `ls "\${SQL_DIR:-sql}" 2>/dev/null | sed -n 's/\\.sql$//p' | grep -v '\\.batch$'`;

/** The same in fish. */
const fishNames = "path basename -E sql/*.sql 2>/dev/null | string match -v '*.batch'";

/**
 * Writes what completes `sqg` in a shell.
 * @throws UsageError for a shell that is not known
 */
export function completionScript(shell: string | undefined, commands: readonly string[]): string {
  switch (shell) {
    case 'bash':
      return bashScript(commands);
    case 'zsh':
      return `autoload -U +X bashcompinit && bashcompinit\n${bashScript(commands)}`;
    case 'fish':
      return fishScript(commands);
    default:
      throw new UsageError(`completion takes a shell; allowed: ${shells.join(', ')}`);
  }
}

function bashScript(commands: readonly string[]): string {
  const cases = Object.entries(following).map(([command, words]) => {
    const own = named.includes(command) ? ` $(${names})` : '';
    return `    ${command}) words="${words.join(' ')}${own}" ;;`;
  });
  return `_sqg() {
  local words="" word="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}"
  if [ "$COMP_CWORD" -eq 1 ]; then words="${commands.join(' ')}"
  elif [ "$before" = --format ]; then words="${shownFormats.join(' ')}"
  else case "\${COMP_WORDS[1]}" in
${cases.join('\n')}
  esac; fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _sqg sqg
`;
}

function fishScript(commands: readonly string[]): string {
  const lines = Object.entries(following).flatMap(([command, words]) => {
    const after = `complete -c sqg -f -n "__fish_seen_subcommand_from ${command}"`;
    const own = named.includes(command) ? [`${after} -a "(${fishNames})"`] : [];
    return [`${after} -a "${words.join(' ')}"`, ...own];
  });
  return [
    `complete -c sqg -f -n __fish_use_subcommand -a "${commands.join(' ')}"`,
    ...lines,
    `complete -c sqg -n "__fish_seen_subcommand_from query" -l format -x -a "${shownFormats.join(' ')}"`,
    '',
  ].join('\n');
}
