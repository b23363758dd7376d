import { Command, CommanderError } from 'commander';
import { SETTINGS_FILE } from '../sampler/settings';
import { CommandError, EXIT } from './command-error';
import type { CommandContext, LiveParts } from './command-context';
import { registerHost } from './commands/host';
import { registerHosts } from './commands/hosts';
import { registerJob } from './commands/job';
import { registerJobs } from './commands/jobs';
import { registerLive } from './commands/live';
import { registerMetrics } from './commands/metrics';
import { registerNode } from './commands/node';
import { registerOwner } from './commands/owner';
import { registerProject } from './commands/project';
import { registerQueue } from './commands/queue';
import { registerReport } from './commands/report';
import { registerRun } from './commands/run';
import { registerDemo } from './commands/demo';
import { registerDatabase } from './commands/database';
import { registerDigest } from './commands/digest';
import { registerDoctor } from './commands/doctor';
import { registerFlush } from './commands/flush';
import { registerImport } from './commands/import';
import { registerInstall } from './commands/install';
import { registerMigrate } from './commands/migrate';
import { registerNightly } from './commands/nightly';
import { registerPrune } from './commands/prune';
import { registerRollup } from './commands/rollup';
import { registerServe } from './commands/serve';
import { registerTop } from './commands/top';
import { registerUninstall } from './commands/uninstall';
import { warn } from './output';
import type { Terminal } from './terminal';

/** Adds a command to the program; what it does is imported when it is called, so that the program starts quickly. */
export type RegisterCommand = (program: Command, context: CommandContext) => void;

const COMMANDS: readonly RegisterCommand[] = [
  registerJob,
  registerJobs,
  registerOwner,
  registerProject,
  registerQueue,
  registerHost,
  registerTop,
  registerLive,
  registerHosts,
  registerNode,
  registerMetrics,
  registerReport,
  registerRun,
  registerDemo,
  registerImport,
  registerInstall,
  registerUninstall,
  registerDoctor,
  registerFlush,
  registerServe,
  registerNightly,
  registerRollup,
  registerPrune,
  registerDigest,
  registerDatabase,
  registerMigrate,
];

function createProgram(version: string, context: CommandContext): Command {
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
  for (const register of COMMANDS) register(program, context);
  return program;
}

/**
 * `run` has a `--csv FILE` of its own; elsewhere `--csv` is an option of the program, which would take it. So behind
 * "run" the options are that command's, and no other's.
 */
function isRun(words: readonly string[]): boolean {
  return words.find((word, index) => !word.startsWith('-') && words[index - 1] !== '--config') === 'run';
}

/** Errors that a person can mend by what they say; any other is a bug. */
const KNOWN = new Set(['SettingsError', 'StoreError', 'CommandError', 'QconfError']);

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
  const program = createProgram(version, {
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
