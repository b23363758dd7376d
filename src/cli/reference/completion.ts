import type { Command, Option } from 'commander';

/** Completion scripts for shells, made from the program's own commands and options. */
export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/** A command, with the words and options that may follow it. */
interface Completed {
  readonly name: string;
  readonly description: string;
  /** Words for its arguments: subcommands and choices. */
  readonly words: readonly string[];
  readonly options: readonly Option[];
}

const shown = (options: readonly Option[]): readonly Option[] => options.filter(({ hidden }) => !hidden);

const flagsOf = ({ short, long }: Option): readonly string[] => [short, long].flatMap((flag) => flag ?? []);

/** The commands to complete; a subcommand (`database init`) is a word of its command, which has the options of both. */
function completed(program: Command): readonly Completed[] {
  return program.commands.map((command) => ({
    name: command.name(),
    description: command.description(),
    words: [
      ...command.commands.map((one) => one.name()),
      ...command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []),
    ],
    options: [...shown(command.options), ...command.commands.flatMap(({ options }) => shown(options))],
  }));
}

/** Quotes a word for bash and zsh. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** "-o|--output": a pattern of the options that take a value. */
const valued = (options: readonly Option[]): string =>
  options
    .filter(({ required }) => required)
    .flatMap(flagsOf)
    .join('|');

function bash(program: Command): string[] {
  const commands = completed(program);
  const globals = shown(program.options);
  const flags = (options: readonly Option[]): readonly string[] => options.flatMap(flagsOf);
  const cases = commands.map(({ name, words, options }) => {
    const values = valued(options);
    const stop = values === '' ? '' : `case $previous in ${values}) return ;; esac; `;
    return `    ${name}) ${stop}words=${quoted([...words, ...flags(options)].join(' '))} ;;`;
  });
  return [
    '# bash completion for qmemacct: eval "$(qmemacct completion bash)"',
    '_qmemacct() {',
    '  local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command= words= index',
    '  COMPREPLY=()',
    '  for ((index = 1; index < COMP_CWORD; index++)); do',
    '    case ${COMP_WORDS[index]} in',
    `      ${valued(globals)}) index=$((index + 1)) ;;`,
    '      -*) ;;',
    '      *) command=${COMP_WORDS[index]}; break ;;',
    '    esac',
    '  done',
    `  case $previous in ${valued(globals)}) return ;; esac`,
    '  case $command in',
    `    '') words=${quoted(commands.map(({ name }) => name).join(' '))} ;;`,
    ...cases,
    '  esac',
    `  COMPREPLY=($(compgen -W "$words ${flags(globals).join(' ')}" -- "$word"))`,
    '}',
    'complete -o default -F _qmemacct qmemacct',
  ];
}

/** `_describe` splits a word from its description at the first colon. */
const described = (word: string, description: string): string =>
  quoted(`${word.replaceAll(':', '\\:')}:${description.replaceAll('\n', ' ')}`);

function zsh(program: Command): string[] {
  const options = (all: readonly Option[]): string =>
    all.flatMap((option) => flagsOf(option).map((flag) => described(flag, option.description))).join(' ');
  const commands = completed(program);
  return [
    '#compdef qmemacct',
    '# zsh completion for qmemacct: as _qmemacct in a directory of $fpath, or: source <(qmemacct completion zsh)',
    '_qmemacct() {',
    '  local -a commands options choices',
    '  local command= index',
    '  commands=(',
    ...commands.map(({ name, description }) => `    ${described(name, description)}`),
    '  )',
    `  options=(${options(shown(program.options))})`,
    '  for ((index = 2; index < CURRENT; index++)); do',
    '    case $words[index] in',
    `      ${valued(shown(program.options))}) ((index++)) ;;`,
    '      -*) ;;',
    '      *) command=$words[index]; break ;;',
    '    esac',
    '  done',
    '  case $command in',
    ...commands.map(
      ({ name, words, options: own }) => `    ${name}) options+=(${options(own)}); choices=(${words.join(' ')}) ;;`,
    ),
    '  esac',
    '  if [[ $words[CURRENT] == -* ]]; then _describe -o option options',
    '  elif [[ -z $command ]]; then _describe command commands',
    '  elif (($#choices)); then _describe argument choices',
    '  else _files',
    '  fi',
    '}',
    'if [[ ${funcstack[1]:-} == _qmemacct ]]; then _qmemacct "$@"; else compdef _qmemacct qmemacct; fi',
  ];
}

const fishQuoted = (text: string): string => `'${text.replace(/[\\']/g, '\\$&')}'`;

function fish(program: Command): string[] {
  const option = ({ short, long, description, required }: Option, where: string): string => {
    const names = [short && `-s ${short.slice(1)}`, long && `-l ${long.slice(2)}`].filter(Boolean).join(' ');
    return `complete -c qmemacct${where} ${names}${required ? ' -r' : ''} -d ${fishQuoted(description)}`;
  };
  const globals = shown(program.options);
  return [
    '# fish completion for qmemacct: qmemacct completion fish | source',
    // Its own __fish_use_subcommand takes the value of an option for a command.
    'function __qmemacct_command_is',
    '  set -l words (commandline -poc)',
    '  set -e words[1]',
    "  set -l command ''",
    "  set -l previous ''",
    '  for word in $words',
    `    if contains -- "$previous" ${valued(globals).replaceAll('|', ' ')}`,
    "      set previous ''",
    "    else if string match -q -- '-*' $word",
    '      set previous $word',
    '    else',
    '      set command $word',
    '      break',
    '    end',
    '  end',
    '  test "$command" = "$argv[1]"',
    'end',
    ...globals.map((one) => option(one, '')),
    ...completed(program).flatMap(({ name, description, words, options }) => {
      const where = ` -n '__qmemacct_command_is ${name}'`;
      return [
        `complete -c qmemacct -n __qmemacct_command_is -f -a ${name} -d ${fishQuoted(description)}`,
        ...(words.length === 0 ? [] : [`complete -c qmemacct${where} -f -a '${words.join(' ')}'`]),
        ...options.map((one) => option(one, where)),
      ];
    }),
  ];
}

const SCRIPTS: Readonly<Record<Shell, (program: Command) => readonly string[]>> = { bash, zsh, fish };

/** The completion script of a shell. `program`: with all commands loaded. */
export function completionScript(shell: Shell, program: Command): string {
  return `${SCRIPTS[shell](program).join('\n')}\n`;
}
