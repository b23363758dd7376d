import { basename } from 'node:path';

/** The parts of a submission that tell what kind of job it is. */
export interface Submission {
  readonly jobName: string;
  readonly pe: string | null;
  /** Of the whole job; null: a range of numbers. */
  readonly slots: number | null;
  readonly project: string | null;
  /** null: none, or more than one. */
  readonly queue: string | null;
  /** Its `-l` requests and `-soft`, `-hard`, `-scope`, as a job's category has them. */
  readonly requests: string;
  /** The script or command, as it was written; null: none was named. */
  readonly command: string | null;
  /** The script's bytes; null: a command, or none. */
  readonly script: Buffer | null;
  /** As it was written: "." with `-cwd`; null: the home directory. */
  readonly directory: string | null;
}

/** Options with another number of arguments than one (qsub(1) of Grid Engine 8.1.9 and Open Cluster Scheduler 9). */
const ARGUMENTS: Readonly<Record<string, number>> = {
  ...{ clear: 0, cwd: 0, h: 0, hard: 0, help: 0, noshell: 0, nostdin: 0, notify: 0, soft: 0, terse: 0 },
  ...{ inherit: 0, nr: 0, V: 0, verbose: 0, pe: 2 },
};
/** `-binding env linear:1` */
const BINDING_WORDS: ReadonlySet<string> = new Set(['env', 'pe', 'set']);

/** Words in place of a script that comes from standard input. */
const STDIN: ReadonlySet<string> = new Set(['-', '--']);

interface Option {
  readonly name: string;
  readonly values: readonly string[];
}

interface CommandLine {
  readonly options: readonly Option[];
  /** The script (or command), or the word in place of a script from standard input; then its arguments. */
  readonly operands: readonly string[];
}

function readOptions(words: readonly string[]): CommandLine {
  const options: Option[] = [];
  let next = 0;
  for (let word = words[0]; word?.startsWith('-') && !STDIN.has(word); word = words[next]) {
    const name = word.slice(1);
    const isLong = name === 'binding' && BINDING_WORDS.has(words[next + 1] ?? '');
    const count = isLong ? 2 : Object.hasOwn(ARGUMENTS, name) ? (ARGUMENTS[name] ?? 1) : 1;
    options.push({ name, values: words.slice(next + 1, next + 1 + count) });
    next += 1 + count;
  }
  return { options, operands: words.slice(next) };
}

const QUOTED = /"([^"]*)"|'([^']*)'/g;

/** The words of a line, which may be in quotes, wholly or in part. */
const wordsOf = (line: string): readonly string[] =>
  (line.match(/(?:"[^"]*"|'[^']*'|\S)+/g) ?? []).map((word) => word.replace(QUOTED, '$1$2'));

/** A word in quotes, or what follows its equals sign. */
const WHOLE_QUOTED = /(^|[\s=])(?:"[^"]*"|'[^']*')(?=\s|$)/g;

const LEFT_OUT = '...';

const quoted = (word: string): string => (/^[\w@%+=:,./*?!|-]+$/.test(word) ? word : `'${word}'`);

/** Names of variables, without their values. */
const namesOf = (variables: string): string =>
  variables
    .split(',')
    .map((variable) => variable.split('=', 1)[0] ?? '')
    .filter((name) => /^\w+$/.test(name))
    .join(',');

/**
 * A submission's command line without what may be secret: the values of variables (`-v`), and the arguments of the
 * script or command, for which "..." stands. Of a line with quotes elsewhere than around words only the command is
 * left.
 */
export function withoutSecrets(line: string): string {
  const [command = '', ...words] = wordsOf(line);
  if (/["']/.test(line.replace(WHOLE_QUOTED, '$1'))) return `${command} ${LEFT_OUT}`;
  const {
    options,
    operands: [script, ...others],
  } = readOptions(words);
  const kept = options.flatMap(({ name, values }) => [`-${name}`, ...(name === 'v' ? values.map(namesOf) : values)]);
  const run = script === undefined ? [] : [script, ...(others.length === 0 ? [] : [LEFT_OUT])];
  return [command, ...kept, ...run].map(quoted).join(' ');
}

/** The script or command, as it was written; undefined: none was named. */
function commandOf({ operands: [command] }: CommandLine): string | undefined {
  return command === undefined || STDIN.has(command) ? undefined : command;
}

/** The script or command of a submission's command line, as it was written; null: none, as for qlogin. */
export function submittedCommand(line: string): string | null {
  const command = commandOf(readOptions(wordsOf(line).slice(1)));
  return command === undefined || command === LEFT_OUT ? null : command;
}

/** The options in a script: those of its lines that begin with the prefix. */
function scriptOptions(text: string, prefix: string): readonly Option[] {
  if (prefix === '') return [];
  const lines = text.split('\n').filter((line) => line.startsWith(prefix));
  return lines.flatMap((line) => readOptions(wordsOf(line.slice(prefix.length))).options);
}

const lastOf = (options: readonly Option[], name: string): readonly string[] | undefined =>
  options.findLast((option) => option.name === name)?.values;

function slotsOf(text: string | undefined): number | null {
  return text !== undefined && /^[1-9]\d{0,8}$/.test(text) ? Number(text) : null;
}

/** The queue of `all.q` or `all.q@node01`; null: a pattern or a list. */
function queueOf(text: string | undefined): string | null {
  return /^([^@,*?|&![\]]+)(?:@[^,]*)?$/.exec(text ?? '')?.[1] ?? null;
}

function directoryOf(options: readonly Option[]): string | null {
  const last = options.findLast(({ name }) => name === 'cwd' || name === 'wd');
  return last === undefined ? null : last.name === 'cwd' ? '.' : (last.values[0] ?? null);
}

/**
 * Reads the arguments of a qsub command. `readScript` gives a script's bytes (it may throw); it is not called for a
 * command (`-b y`) or where there is none. Options of the command line count before those of the script.
 */
export function readSubmission(words: readonly string[], readScript: (path: string) => Buffer): Submission {
  const line = readOptions(words);
  const { options: given } = line;
  const command = commandOf(line);
  const isBinary = /^y(es)?$/i.test(lastOf(given, 'b')?.[0] ?? '');
  const prefix = lastOf(given, 'C')?.[0] ?? '#$';
  const script = command === undefined || isBinary ? null : readScript(command);
  const inScript = script === null ? [] : scriptOptions(script.toString('utf8'), prefix);
  const options = [...inScript, ...given];
  const [pe, slots] = lastOf(options, 'pe') ?? [];
  const requests = (some: readonly Option[]): readonly string[] =>
    some.flatMap(({ name, values: [text = ''] }) =>
      (name === 'l' || name === 'scope') && /^\S+$/.test(text)
        ? [`-${name} ${text}`]
        : name === 'soft' || name === 'hard'
          ? [`-${name}`]
          : [],
    );
  return {
    jobName: lastOf(options, 'N')?.[0] ?? (command === undefined ? 'STDIN' : basename(command)),
    pe: pe ?? null,
    slots: pe === undefined ? 1 : slotsOf(slots),
    project: lastOf(options, 'P')?.[0] ?? null,
    queue: queueOf(lastOf(options, 'q')?.[0]),
    requests: [...requests(given), '-hard -scope global', ...requests(inScript)].join(' '),
    command: command ?? null,
    script,
    directory: directoryOf(options),
  };
}
