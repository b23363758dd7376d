import { Command, CommanderError } from 'commander';
import { SETTINGS_FILE } from '../record/settings';
import { CommandError, EXIT } from './command-error';
import type { CommandContext, LiveParts } from './command-context';
import { warn } from './output';
import type { Terminal } from './terminal';

/** Adds a command to the program; what it does is imported when it is called, so that the program starts quickly. */
type RegisterCommand = (program: Command, context: CommandContext) => void;

const COMMANDS: ReadonlyMap<string, () => Promise<RegisterCommand>> = new Map([
  ['job', async () => (await import('./commands/job.js')).registerJob],
  ['jobs', async () => (await import('./commands/jobs.js')).registerJobs],
  ['owner', async () => (await import('./commands/subjects.js')).registerSubject('owner')],
  ['project', async () => (await import('./commands/subjects.js')).registerSubject('project')],
  ['queue', async () => (await import('./commands/subjects.js')).registerSubject('queue')],
  ['host', async () => (await import('./commands/subjects.js')).registerSubject('host')],
  ['top', async () => (await import('./commands/top.js')).registerTop],
  ['live', async () => (await import('./commands/live.js')).registerLive],
  ['hosts', async () => (await import('./commands/hosts.js')).registerHosts],
  ['node', async () => (await import('./commands/node.js')).registerNode],
  ['metrics', async () => (await import('./commands/metrics.js')).registerMetrics],
  ['report', async () => (await import('./commands/report.js')).registerReport],
  ['run', async () => (await import('./commands/run.js')).registerRun],
  ['demo', async () => (await import('./commands/demo.js')).registerDemo],
  ['import', async () => (await import('./commands/import.js')).registerImport],
  ['install', async () => (await import('./commands/install.js')).registerInstall],
  ['uninstall', async () => (await import('./commands/uninstall.js')).registerUninstall],
  ['doctor', async () => (await import('./commands/doctor.js')).registerDoctor],
  ['flush', async () => (await import('./commands/flush.js')).registerFlush],
  ['serve', async () => (await import('./commands/serve.js')).registerServe],
  ['nightly', async () => (await import('./commands/nightly.js')).registerNightly],
  ['settle', async () => (await import('./commands/settle.js')).registerSettle],
  ['rollup', async () => (await import('./commands/rollup.js')).registerRollup],
  ['prune', async () => (await import('./commands/prune.js')).registerPrune],
  ['digest', async () => (await import('./commands/digest.js')).registerDigest],
  ['database', async () => (await import('./commands/database.js')).registerDatabase],
  ['migrate', async () => (await import('./commands/migrate.js')).registerMigrate],
]);

/** The program with those of its commands that `words` may mean: the one that they name, else all. */
export async function createProgram(
  words: readonly string[],
  version: string,
  context: CommandContext,
): Promise<Command> {
  const { terminal } = context;
  const program = new Command('qmemacct')
    .description('Memory and efficiency of Grid Engine jobs: what they used of what they asked for.')
    .version(version)
    .option('--config <file>', 'configuration', SETTINGS_FILE)
    .option('--json', 'print JSON (schema 1)')
    .option('--csv', 'print CSV')
    .option('--no-color', 'no colours (also: NO_COLOR; never where the output is no terminal)')
    .option('--debug', 'on an error tell where it came from')
    .exitOverride()
    .configureHelp({ showGlobalOptions: true })
    .showHelpAfterError('(--help tells how)')
    .configureOutput({
      writeOut: terminal.write,
      writeErr: (text) => terminal.warn(text.replace(/\n$/, '')),
      outputError: (text, write) => write(text.replace(/^error: /, 'qmemacct: ')),
    });
  const named = COMMANDS.get(commandWord(words) ?? '');
  for (const register of named === undefined ? COMMANDS.values() : [named]) (await register())(program, context);
  return program;
}

/** Of the options before a command only --config takes a value. */
function commandWord(words: readonly string[]): string | undefined {
  return words.find((word, index) => !word.startsWith('-') && words[index - 1] !== '--config');
}

/**
 * `run` has a `--csv FILE` of its own; elsewhere `--csv` is an option of the program, which would take it. So behind
 * "run" the options are that command's, and no other's.
 */
function isRun(words: readonly string[]): boolean {
  return commandWord(words) === 'run';
}

/** Errors that a person can mend by what they say; any other is a bug. */
const KNOWN = new Set(['SettingsError', 'StoreError', 'CommandError', 'QconfError', 'UntrustedError']);

function statusOf(error: unknown): number {
  if (error instanceof CommandError) return error.status;
  if (error instanceof Error && error.name === 'SettingsError') return EXIT.usage;
  return EXIT.unavailable;
}

/** Runs a command line (without node and script); resolves to the exit status, never rejects. */
export async function runProgram(
  words: readonly string[],
  version: string,
  terminal: Terminal,
  live: LiveParts = {},
): Promise<number> {
  let status: number = EXIT.found;
  const program = await createProgram(words, version, {
    terminal,
    live,
    finish: async (result) => {
      status = await result;
    },
  });
  try {
    program.enablePositionalOptions(isRun(words));
    await program.parseAsync(words, { from: 'user' });
    return status;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.found : EXIT.usage;
    const { debug } = program.opts<{ debug?: boolean }>();
    const known = error instanceof Error && KNOWN.has(error.name);
    warn(terminal, error instanceof Error ? ((debug ? error.stack : null) ?? error.message) : String(error));
    if (!known && !debug) warn(terminal, 'this is a bug; --debug tells where it came from');
    return statusOf(error);
  }
}
