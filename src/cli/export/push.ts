import { closeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicMs } from '../../base/monotonic';
import { openFeed } from '../../accounting/open-store';
import { logChanges } from '../../base/log';
import { LimitedLog } from '../../base/log-limit';
import { UserError } from '../../base/user-error';
import { takeAndSend, type Push } from '../../export/push/delivery';
import { MetricPush } from '../../export/push/metric-push';
import { RecordPush } from '../../export/push/record-push';
import { openMetricSink, openRecordSink } from '../../export/push/sink';
import { spoolOf } from '../../export/push/spool';
import type { SinkSettings } from '../../record/export-sinks';
import { loadSettings, type Settings } from '../../record/settings';
import { CommandError, EXIT, usageError, type GlobalOptions } from '../command';
import { warn } from '../output';
import { becomeDeliverer } from '../stores/maintenance';
import { interruption, type Terminal } from '../terminal';
import { collectFigures } from './figures';

export interface PushOptions extends GlobalOptions {
  readonly once?: boolean;
}

/** A sink that is being pushed to. */
interface Running {
  readonly push: Push;
  readonly intervalMs: number;
  readonly log: (line: string) => void;
  readonly lock: number;
}

function chosenSinks(
  names: readonly string[],
  { config }: GlobalOptions,
  { export: all }: Settings,
): readonly SinkSettings[] {
  if (all.length === 0)
    throw new CommandError(`${config} has no [[export]]; docs/settings.md says how to write one`, EXIT.usage);
  const unknown = names.find((name) => all.every((sink) => sink.name !== name));
  if (unknown !== undefined)
    throw usageError(`"${unknown}" is the name of no [[export]]; these are: ${all.map(({ name }) => name).join(', ')}`);
  return names.length === 0 ? all : all.filter(({ name }) => names.includes(name));
}

async function start(
  sink: SinkSettings,
  settings: Settings,
  version: string,
  say: (line: string) => void,
): Promise<Running> {
  const { lockFile } = await import('../../native/libc.js');
  const log = (line: string): void => say(`export "${sink.name}": ${line}`);
  const spool = spoolOf(settings.export_dir, sink);
  const lock = lockFile(join(spool.directory, 'lock'));
  if (lock === null)
    throw new CommandError(
      `export "${sink.name}": another "qmemacct export push" sends there already`,
      EXIT.unavailable,
    );
  const { accounting, accounting_credentials: credentials } = settings;
  const push =
    sink.what === 'records'
      ? new RecordPush(await openRecordSink(sink), spool, () => openFeed(accounting, { credentials }), log)
      : new MetricPush(await openMetricSink(sink), spool, () => collectFigures(sink, settings, version), log);
  return { push, intervalMs: sink.interval * 1000, log, lock };
}

/** Runs a step of a push; null: it failed with a UserError. `fault` gets the problem, or null after a success. */
async function attempt<T>(step: () => Promise<T>, fault: (problem: string | null) => void): Promise<T | null> {
  try {
    const result = await step();
    fault(null);
    return result;
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    fault(error.message);
    return null;
  }
}

const faultsOf = ({ log }: Running) => logChanges(log, 'it is read again');

/** Pushes once; false: not everything could be sent. */
async function once(running: Running, signal: AbortSignal): Promise<boolean> {
  const sent = await attempt(async () => ({ problem: await takeAndSend(running.push, signal) }), faultsOf(running));
  return sent !== null && sent.problem === null;
}

/** Reads figures at each interval, also while earlier ones are still being sent to a slow sink. */
async function keepPushing(running: Running, signal: AbortSignal): Promise<void> {
  const { push, intervalMs } = running;
  const [taking, sending] = [faultsOf(running), faultsOf(running)];
  let underWay: Promise<unknown> | null = null;
  while (!signal.aborted) {
    const began = monotonicMs();
    await attempt(() => push.take(), taking);
    underWay ??= attempt(() => push.send(signal), sending).finally(() => (underWay = null));
    const left = Math.max(0, intervalMs - (monotonicMs() - began));
    const rest = sleep(left, undefined, { signal }).catch(() => undefined);
    await Promise.race([rest, underWay.then(() => rest)]);
  }
  await underWay;
}

/** `export push`: until a signal, or with --once a single time; resolves to the exit status. Rejects with UserError. */
export async function push(
  names: readonly string[],
  options: PushOptions,
  version: string,
  terminal: Terminal,
): Promise<number> {
  const settings = loadSettings(options.config);
  const sinks = chosenSinks(names, options, settings);
  // Only root can read node.db, which sinks with what = "node" need.
  if (sinks.every(({ what }) => what !== 'node')) becomeDeliverer(settings);
  const limited = new LimitedLog((line) => warn(terminal, line));
  const { signal, release } = interruption();
  const started: Running[] = [];
  try {
    for (const sink of sinks) started.push(await start(sink, settings, version, (line) => limited.say(line)));
    if (options.once !== true) {
      await Promise.all(started.map((running) => keepPushing(running, signal)));
      return EXIT.found;
    }
    const sent = await Promise.all(started.map((running) => once(running, signal)));
    return sent.every(Boolean) ? EXIT.found : EXIT.unavailable;
  } finally {
    release();
    limited.flush();
    for (const { lock } of started) closeSync(lock);
  }
}
