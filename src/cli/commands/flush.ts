import { statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { untrustedForRoot } from '../../base/trusted-path';
import type { Command } from 'commander';
import { monotonicMs } from '../../base/monotonic';
import { reasonOf } from '../../base/user-error';
import { privateCluster } from '../../record/job-name';
import { loadHostSettings, loadSettings, type Settings } from '../../record/settings';
import { wakeDelivery } from '../../sampler/delivery/delivery-lock';
import { ownStatus } from '../../sampler/delivery/node-status';
import { deliverRecords } from '../../sampler/delivery/outbox-feeder';
import { NodeStore } from '../../sampler/node-store/node-store';
import { tidyNode, type TidyOutcome } from '../../sampler/node-store/storage';
import { plural } from '../../report/format/units';
import { commandAction, type CommandContext, type GlobalOptions, CommandError, EXIT, usageError } from '../command';
import { parseTimeArgument } from '../arguments';
import { textOrJson, warn, writeLines } from '../output';
import { makePrivateState } from '../run/private-state';
import { ownStorePath } from '../stores/stores';
import type { Terminal } from '../terminal';

interface FlushOptions extends GlobalOptions {
  readonly patience: string;
  readonly quiet?: boolean;
  readonly since?: string;
}

/** `qmemacct flush` */
export function register(command: Command, context: CommandContext): void {
  command
    .option('--patience <seconds>', 'how long to try an accounting DB that does not answer', '30')
    .option(
      '--since <time>',
      'deliver again what ended here since then (7d, 12h, 2026-11-01 ...): after an older copy of the accounting DB was restored',
    )
    .option('--quiet', 'report problems only')
    .action(commandAction<FlushOptions>(context, flush));
}

const AGAIN_AFTER_MS = 500;

function ownerOf(directory: string): number | null {
  return statSync(directory, { throwIfNoEntry: false })?.uid ?? null;
}

/** The state directories on this host that belong to the caller: the node's (root), or one's own of `qmemacct run`. */
function statesOf(config: string, terminal: Terminal): readonly Settings[] {
  const site = loadSettings(config);
  const uid = process.getuid?.() ?? -1;
  const accounting = ownStorePath(terminal.env);
  const own = join(dirname(accounting), 'run-state');
  return [
    ...(ownerOf(site.state_dir) === uid ? [loadHostSettings(config)] : []),
    ...(own !== site.state_dir && ownerOf(own) === uid && untrustedForRoot(own) === null
      ? [makePrivateState(own, { cluster: privateCluster('run'), accounting }).settings]
      : []),
  ];
}

function open(settings: Settings): NodeStore {
  try {
    return new NodeStore(settings.state_dir);
  } catch (error) {
    const reason = reasonOf(error);
    const path = join(settings.state_dir, 'node.db');
    throw new CommandError(`${path}: ${reason}; "qmemacct doctor" shows more`, EXIT.unavailable, { cause: error });
  }
}

/** Tidies until nothing is left or the patience ends; repeats, because a sampler may be delivering at this moment. */
async function tidy(store: NodeStore, settings: Settings, patience: number): Promise<TidyOutcome> {
  const deadline = monotonicMs() + patience * 1000;
  let sum = { recovered: 0, ingested: 0, delivered: 0 };
  for (;;) {
    const left = Math.max(0, deadline - monotonicMs()) / 1000;
    const outcome = await tidyNode(store, { ...settings, delivery_jitter_ms: 0 }, left);
    sum = {
      recovered: sum.recovered + outcome.recovered,
      ingested: sum.ingested + outcome.ingested,
      delivered: sum.delivered + outcome.delivered,
    };
    if (outcome.left === 0 || outcome.problem !== null) return { ...outcome, ...sum };
    // Another process is delivering: ask it to try again, and why its last try failed.
    const problem = wakeDelivery(settings.state_dir);
    if (monotonicMs() > deadline) return { ...outcome, ...sum, problem: heldBy(problem) };
    await sleep(AGAIN_AFTER_MS);
  }
}

const heldBy = (problem: string | null): string =>
  problem === null
    ? 'another process delivers them'
    : `another process delivers them, and its last try failed: ${problem}`;

function describe({ recovered, ingested, delivered, left }: TidyOutcome): string {
  const done = [
    ...(recovered > 0 ? [`finished ${plural(recovered, 'abandoned run')}`] : []),
    ...(ingested > 0 ? [`took in ${plural(ingested, 'record')} of jobs' owners`] : []),
    `delivered ${plural(delivered, 'record')}`,
    ...(left > 0 ? [`${left} left`] : []),
  ];
  return done.join(', ');
}

/** Delivers the host's own status, also where no record waits. Resolves to the problem, or null. */
async function sayStatus(store: NodeStore, settings: Settings): Promise<string | null> {
  const status = ownStatus(store, settings);
  return status === null ? null : deliverRecords([], () => settings, status);
}

/** `flush`; resolves to the exit status. Rejects with CommandError or SettingsError. */
export async function flush(options: FlushOptions, terminal: Terminal): Promise<number> {
  const format = textOrJson(options, 'flush');
  const patience = Number(options.patience);
  if (!(patience >= 0 && patience <= 86_400))
    throw usageError(`--patience "${options.patience}": give a number of seconds up to 86400`);
  const since = options.since === undefined ? null : parseTimeArgument('--since', options.since, terminal.now());
  const states = statesOf(options.config, terminal);
  if (states.length === 0) {
    const { state_dir: state } = loadSettings(options.config);
    throw new CommandError(
      process.getuid?.() === 0
        ? `${state}: nothing is installed here; "qmemacct install --node" does that`
        : `${state}: only root can flush this node, and you have no records of "qmemacct run"`,
      EXIT.unavailable,
    );
  }
  process.umask(0o077);
  // Print messages about refused or damaged records here, not only in the system log.
  process.env.QMEMACCT_LOG = 'stderr';
  const outcomes: (TidyOutcome & { readonly state_dir: string })[] = [];
  for (const settings of states) {
    const store = open(settings);
    try {
      if (since !== null) store.deliverAgain(since.getTime());
      const outcome = await tidy(store, settings, patience);
      const came = outcome.delivered > 0 || outcome.problem !== null;
      outcomes.push({
        state_dir: settings.state_dir,
        ...outcome,
        problem: came ? outcome.problem : await sayStatus(store, settings),
      });
    } finally {
      store.close();
    }
  }
  if (format === 'json') terminal.write(`${JSON.stringify({ schema: 1, stores: outcomes })}\n`);
  for (const outcome of outcomes) {
    if (format === 'text' && !options.quiet) writeLines(terminal, [`${outcome.state_dir}: ${describe(outcome)}`]);
    if (outcome.left === 0 && outcome.problem === null) continue;
    const what =
      outcome.left > 0
        ? `${plural(outcome.left, 'record waits', 'records wait')} in ${outcome.state_dir}/node.db`
        : "the host's status can't be delivered";
    warn(terminal, `${what}: ${outcome.problem ?? heldBy(null)}`);
  }
  return outcomes.some(({ left, problem }) => left > 0 || problem !== null) ? EXIT.unavailable : EXIT.found;
}
