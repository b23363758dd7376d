import type { Command } from 'commander';
import { UserError } from '../../base/user-error';
import { loadSettings } from '../../record/settings';
import { judgeNodes, worstState, type JudgedNode, type NodeState, type Patience } from '../../report/nodes/judge';
import { renderCheck, renderNodes, renderNodesCsv, renderNodesJson, renderUnknown } from '../../report/nodes/nodes';
import { parseTimeArgument } from '../arguments';
import { commandAction, type CommandContext, type GlobalOptions, CommandError, EXIT, usageError } from '../command';
import { executionHosts } from '../doctor/host-role';
import { outputFormat, screenOf, warn, writeLines } from '../output';
import { noStoreMessage, realSources, withSiteStore, type Sources } from '../stores/stores';
import type { Terminal } from '../terminal';

export interface NodesOptions extends GlobalOptions {
  readonly since: string;
  readonly warning: string;
  readonly critical: string;
  readonly check?: boolean;
}

/** `qmemacct nodes --check` */
export function register(command: Command, context: CommandContext): void {
  command
    .option('--since <time>', 'hosts with a heartbeat since then, and all that Grid Engine lists', '7d')
    .option('--warning <time>', 'warn of no heartbeat, or a record waiting, for this long (30m, 2h, 1d)', '30m')
    .option('--critical <time>', 'the same, critical', '2h')
    .option('--check', 'one line for Nagios or Icinga; status 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN')
    .action(commandAction<NodesOptions>(context, showNodes));
}

/** Where the command reads from; tests replace it. */
export interface NodesSources extends Pick<Sources, 'open' | 'askServer'> {
  /** Grid Engine's execution hosts; a string: why it can't be asked. */
  readonly hosts: typeof executionHosts;
}

const CHECK_STATUS: Readonly<Record<NodeState, number>> = { ok: 0, warning: 1, critical: 2 };
const CHECK_UNKNOWN = 3;
/** Monitoring systems kill slow checks, and hosts with a heartbeat are known without Grid Engine. */
const MOST_WAIT_SECONDS = 5;

function secondsOf(option: string, text: string, now: Date): number {
  const seconds = (now.getTime() - parseTimeArgument(option, text, now).getTime()) / 1000;
  if (seconds <= 0) throw usageError(`${option} ${text}: give a span of time, as 30m, 2h or 1d`);
  return seconds;
}

interface Wanted {
  /** ms */
  readonly since: number;
  readonly patience: Patience;
}

/** Rejects with CommandError, SettingsError or StoreError. */
async function findNodes(
  { since, patience }: Wanted,
  options: NodesOptions,
  terminal: Terminal,
  sources: NodesSources,
): Promise<readonly JudgedNode[]> {
  const settings = loadSettings(options.config);
  const known = await withSiteStore(settings, sources, (stores) => {
    const [reader] = stores.readers;
    if (reader === undefined) throw new CommandError(noStoreMessage(stores), EXIT.unavailable);
    return reader.nodes({ since: 0 });
  });
  const seconds = Math.min(settings.command_timeout, MOST_WAIT_SECONDS);
  const hosts = await sources.hosts(terminal.env, { ...settings, command_timeout: seconds });
  if (typeof hosts === 'string' && !options.check) warn(terminal, `hosts without a heartbeat are not listed: ${hosts}`);
  const listed = typeof hosts === 'string' ? [] : hosts;
  const nodes = judgeNodes(known, listed, since, terminal.now(), patience);
  if (nodes.length > 0) return nodes;
  throw new CommandError(
    `no host has sent a heartbeat (--since ${options.since}); each sends its first with a job's record, or by "qmemacct flush"`,
    EXIT.nothing,
  );
}

/** Shows the hosts; resolves to the exit status. Rejects with CommandError, SettingsError or StoreError. */
export async function showNodes(
  options: NodesOptions,
  terminal: Terminal,
  sources: NodesSources = { ...realSources, hosts: executionHosts },
): Promise<number> {
  const format = outputFormat(options);
  const now = terminal.now();
  const wanted = {
    since: parseTimeArgument('--since', options.since, now).getTime(),
    patience: {
      warning: secondsOf('--warning', options.warning, now),
      critical: secondsOf('--critical', options.critical, now),
    },
  };
  if (options.check) return check(() => findNodes(wanted, options, terminal, sources), terminal);
  const nodes = await findNodes(wanted, options, terminal, sources);
  if (format === 'json') terminal.write(renderNodesJson(nodes));
  else if (format === 'csv') terminal.write(renderNodesCsv(nodes));
  else writeLines(terminal, renderNodes(nodes, screenOf(terminal, options)));
  return EXIT.found;
}

/** Prints the line for the monitoring system, which reads only standard output; resolves to the check's status. */
async function check(find: () => Promise<readonly JudgedNode[]>, terminal: Terminal): Promise<number> {
  try {
    const nodes = await find();
    writeLines(terminal, [renderCheck(nodes)]);
    return CHECK_STATUS[worstState(nodes)];
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    writeLines(terminal, [renderUnknown(error.message)]);
    return CHECK_UNKNOWN;
  }
}
