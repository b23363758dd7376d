import { createProgram, isChange, runProgram } from '../../src/cli/program';
import { fakeTerminal } from './fake-terminal';

/**
 * Runs every command that only reads, alone and with each of its options, as the program lists them, and prints the
 * outcome of each attempt as a line of JSON: node every-command.js CONFIG
 */

/** Commands that measure, serve, write files or describe the program: not run, nor are those that change something. */
const NOT_RUN: readonly string[] = ['export', 'run', 'demo', 'doctor', 'serve', 'completion', 'man', 'web'];

export const isRun = (name: string): boolean => !isChange([name]) && !NOT_RUN.includes(name);

export interface Attempt {
  readonly words: readonly string[];
  readonly status: number;
  readonly warnings: string;
}

/** Values for an option or argument, tried in this order. */
const VALUES = [
  ...['4711', 'bob', '1d', '2026-11-20', '2099-01-01', '4G', '50', '0.5', 'finished', 'genome', 'all.q', 'node08'],
  ...['owner', 'owners', 'host', 'json', 'job', 'cpu', 'rss', 'process_rss_bytes', 'leak'],
];
/** Options that need others beside them. */
const NEEDED_BESIDE: Readonly<Record<string, readonly string[]>> = { 'live --full': ['--xml'] };

async function attempt(config: string, words: readonly string[]): Promise<Attempt> {
  const terminal = fakeTerminal();
  const status = await runProgram(['--config', config, ...words], '1', terminal);
  return { words, status, warnings: terminal.warnings() };
}

/** Tries values until one is no usage error (`found`: until the command ends with 0). Returns the last attempt. */
async function tryValues(config: string, make: (value: string) => readonly string[], found = false): Promise<Attempt> {
  let last: Attempt | null = null;
  for (const value of VALUES) {
    last = await attempt(config, make(value));
    if (found ? last.status === 0 : last.status !== 2) break;
  }
  return last ?? { words: [], status: 2, warnings: '' };
}

async function main(config: string): Promise<void> {
  const print = (made: Attempt): void => void process.stdout.write(`${JSON.stringify(made)}\n`);
  const context = { terminal: fakeTerminal(), version: '1', finish: () => Promise.resolve() };
  const program = await createProgram([], context);
  const globals = program.options.filter(({ long }) => !['--version', '--config'].includes(long ?? ''));
  for (const name of program.commands.map((command) => command.name())) {
    if (!isRun(name)) continue;
    const command = (await createProgram([name], context)).commands.find((known) => known.name() === name);
    if (command === undefined) throw new Error(`${name}: not in its own program`);
    const needed = command.registeredArguments.filter(({ required }) => required);
    let plain =
      needed.length === 0
        ? await attempt(config, [name])
        : await tryValues(config, (value) => [name, ...needed.map(() => value)], true);
    print(plain);
    // Without a name the command asks for the caller's jobs: there are none.
    if (plain.status === 1 && needed.length === 0 && command.registeredArguments.length > 0) {
      plain = await tryValues(config, (value) => [name, value], true);
      print(plain);
    }
    for (const { long, short, required, optional } of [...globals, ...command.options]) {
      const flag = long ?? short ?? '';
      const words = [...plain.words, ...(NEEDED_BESIDE[`${name} ${flag}`] ?? []), flag];
      print(required ? await tryValues(config, (value) => [...words, value]) : await attempt(config, words));
      if (optional) print(await tryValues(config, (value) => [...words, value]));
    }
  }
}

if (require.main === module) void main(process.argv[2] ?? '');
