import { shownFormats } from './client/query-command.ts';
import { UsageError } from './command-line.ts';

const shells = ['bash', 'zsh', 'fish'];

/** Words that may follow a command. */
const following: Record<string, readonly string[]> = {
  query: ['--sql', '--format', '--watch', '--every', '--profile', '--url', '--token', '--param', '--help'],
  mcp: ['--profile', '--url', '--token'],
  endpoint: ['new', 'lint', 'test', 'explain'],
  backup: ['restore'],
  source: ['add', 'list', 'check', 'drop'],
  token: ['issue', 'list', 'show', 'rotate', 'revoke', 'allow'],
  cache: ['invalidate'],
  doctor: ['--json'],
  completion: shells,
};

/** Commands that take the name of a saved query. */
const named = ['query', 'cache', 'endpoint'];
// The shell would execute `$(…)` in a completed word, so files with other characters in their names are left out.
const names = `ls "\${SQL_DIR:-sql}" 2>/dev/null | sed -n 's/^\\([A-Za-z0-9._-]*\\)\\.sql$/\\1/p' | grep -v '\\.batch$'`;

/** Options for the parameters of a saved query, from its header. */
const parameters = `$(sed -n '/^parameters:/,/^[^ ]/s/^  \\([A-Za-z_][A-Za-z0-9_]*\\):.*/--\\1/p' "\${SQL_DIR:-sql}/\${COMP_WORDS[2]}.sql" 2>/dev/null)`;

/** The same in fish, as functions. The quotes matter: if the third word is missing, `sed` would otherwise get no file and wait for standard input. */
const fishNames = `function __sqg_saved_queries
  set -l folder sql
  set -q SQL_DIR; and set folder $SQL_DIR
  ls $folder 2>/dev/null | string match '*.sql' | string replace -r '\\.sql$' '' | string match -v '*.batch'
end
function __sqg_parameters
  set -l folder sql
  set -q SQL_DIR; and set folder $SQL_DIR
  set -l words (commandline -opc)
  sed -n '/^parameters:/,/^[^ ]/s/^  \\([A-Za-z_][A-Za-z0-9_]*\\):.*/--\\1/p' "$folder/$words[3].sql" 2>/dev/null
end`;

/**
 * The script that completes `sqg` in a shell.
 * @throws UsageError for an unknown shell
 */
export function completionScript(shell: string | undefined, commands: readonly string[]): string {
  switch (shell) {
    case 'bash':
      return bashScript(commands);
    case 'zsh':
      // A plain zsh has loaded neither; bashcompinit provides `complete`.
      return `(( $+functions[compdef] )) || { autoload -U compinit && compinit -u }
autoload -U +X bashcompinit && bashcompinit
${bashScript(commands)}`;
    case 'fish':
      return fishScript(commands);
    default:
      throw new UsageError(`completion takes a shell; allowed: ${shells.join(', ')}`);
  }
}

function bashScript(commands: readonly string[]): string {
  const cases = Object.entries(following).map(([command, words]) => {
    const own = named.includes(command) ? ` $(${names})` : '';
    const more = command === 'query' ? ` ${parameters}` : '';
    return `    ${command}) words="${words.join(' ')}${own}${more}" ;;`;
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
    const own = named.includes(command) ? [`${after} -a "(__sqg_saved_queries)"`] : [];
    const more = command === 'query' ? [`${after} -a "(__sqg_parameters)"`] : [];
    return [`${after} -a "${words.join(' ')}"`, ...own, ...more];
  });
  return [
    fishNames,
    `complete -c sqg -f -n __fish_use_subcommand -a "${commands.join(' ')}"`,
    ...lines,
    `complete -c sqg -n "__fish_seen_subcommand_from query" -l format -x -a "${shownFormats.join(' ')}"`,
    '',
  ].join('\n');
}
