import { createProgram, runProgram } from '../../src/cli/program';
import { fakeTerminal } from './fake-terminal';

/**
 * Runs every command that reads, alone and with each of its options, by the program's own list of them, and prints what
 * came of each as a line of JSON: node every-command.js CONFIG
 */

/** Those that set something up, measure, serve, or write files: they are not run. */
export const NO_READERS: readonly string[] = [
  'export',
  ...['run', 'demo', 'import', 'install', 'uninstall', 'doctor', 'flush', 'serve', 'nightly', 'rollup', 'prune'],
  ...['digest', 'database', 'migrate', 'settle', 'completion', 'man', 'web'],
];

export interface Tried {
  readonly words: readonly string[];
  readonly status: number;
  readonly warnings: string;
}

/** For an option or argument that takes a value: the first of these that makes sense to it. */
const VALUES = [
  ...['4711', 'bob', '1d', '2026-11-20', '2099-01-01', '4G', '50', '0.5', 'finished', 'genome', 'all.q', 'node08'],
  ...['owner', 'owners', 'host', 'json', 'job', 'cpu', 'rss', 'process_rss_bytes', 'leak'],
];
/** Options that are for another one alone. */
const BESIDE: Readonly<Record<string, readonly string[]>> = { 'live --full': ['--xml'] };

async function attempt(config: string, words: readonly string[]): Promise<Tried> {
  const terminal = fakeTerminal();
  const status = await runProgram(['--config', config, ...words], '1', terminal);
  return { words, status, warnings: terminal.warnings() };
}

/** With the first value by which it is no usage error (`found`: by which something is found); else the last try. */
async function withValue(config: string, make: (value: string) => readonly string[], found = false): Promise<Tried> {
  let tried: Tried | null = null;
  for (const value of VALUES) {
    tried = await attempt(config, make(value));
    if (found ? tried.status === 0 : tried.status !== 2) break;
  }
  return tried ?? { words: [], status: 2, warnings: '' };
}

async function main(config: string): Promise<void> {
  const print = (tried: Tried): void => void process.stdout.write(`${JSON.stringify(tried)}\n`);
  const context = { terminal: fakeTerminal(), version: '1', finish: () => Promise.resolve() };
  const program = await createProgram([], context);
  const globals = program.options.filter(({ long }) => !['--version', '--config'].includes(long ?? ''));
  for (const name of program.commands.map((command) => command.name())) {
    if (NO_READERS.includes(name)) continue;
    const command = (await createProgram([name], context)).commands.find((known) => known.name() === name);
    if (command === undefined) throw new Error(`${name}: not in its own program`);
    const needed = command.registeredArguments.filter(({ required }) => required);
    let plain = await withValue(config, (value) => [name, ...needed.map(() => value)], true);
    print(plain);
    // Without a name it is about the caller, who has no jobs.
    if (plain.status === 1 && needed.length === 0 && command.registeredArguments.length > 0)
      plain = await withValue(config, (value) => [name, value], true);
    print(plain);
    for (const { long, short, required, optional } of [...globals, ...command.options]) {
      const flag = long ?? short ?? '';
      const words = [...plain.words, ...(BESIDE[`${name} ${flag}`] ?? []), flag];
      print(required ? await withValue(config, (value) => [...words, value]) : await attempt(config, words));
      if (optional) print(await withValue(config, (value) => [...words, value]));
    }
  }
}

if (require.main === module) void main(process.argv[2] ?? '');
