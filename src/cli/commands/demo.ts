import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { monotonicMs } from '../../base/monotonic';
import { packageRoot } from '../../base/package-root';
import { programPath } from '../../base/programs';
import { callerName } from '../../base/user-name';
import { reasonOf } from '../../base/user-error';
import { privateCluster } from '../../record/job-name';
import { NodeStore } from '../../sampler/node-store/node-store';
import { tidyNode } from '../../sampler/node-store/storage';
import { commandAction, type CommandContext, type GlobalOptions, CommandError, EXIT } from '../command';
import { hookConfText } from '../install/hook-conf';
import { DEMO_JOBS, type DemoJob } from '../demo/jobs';
import { warn, writeLines } from '../output';
import { namedSubject } from '../records/subject';
import { makePrivateState, takeJobNumber, writeSpool, type PrivateState } from '../run/private-state';
import { ownStorePath } from '../stores/stores';
import type { Terminal } from '../terminal';
import { showJobs } from './job';
import { showRecords } from './records';

interface DemoOptions extends GlobalOptions {
  readonly keep?: boolean;
}

/** `qmemacct demo` */
export function register(command: Command, context: CommandContext): void {
  command
    .option('--keep', 'keep the private directory and show its path')
    .action(commandAction<DemoOptions>(context, runDemo));
}

/** Copies the hooks as an installation has them, with absolute paths in the hook.conf beside them. */
function installHooks(state: PrivateState): string {
  const hooks = join(state.directory, 'hooks');
  cpSync(join(packageRoot(), 'hooks'), hooks, { recursive: true });
  const { directory, settings, settingsPath } = state;
  const conf = hookConfText({
    ...{ state: directory, run: settings.run_dir, settings: settingsPath, cluster: settings.cluster },
    ...{ node: process.execPath, program: packageRoot(), cgroup: 'off', scope: 'job' },
    // The prolog waits until the sampler receives the kernel's events, so that the peaks are proved.
    arm_wait: '1',
  });
  writeFileSync(join(hooks, 'hook.conf'), conf);
  return hooks;
}

interface Submitted {
  readonly number: number;
  /** Rejects if the job could not be started. */
  readonly ended: Promise<unknown>;
}

/** Runs one job to its end, epilog included. */
function submit(state: PrivateState, hooks: string, job: DemoJob): Submitted {
  const { job: number, spool } = takeJobNumber(state);
  writeSpool(
    spool,
    { job: number, name: job.name, hVmem: job.hVmem, slots: job.slots, pe: job.slots > 1 ? 'smp' : null },
    Date.now(),
  );
  const shepherd = programPath('cli/demo/shepherd');
  const child = spawn(process.execPath, [shepherd, hooks, String(number), String(job.limitKib), job.command], {
    cwd: spool,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  return { number, ended: once(child, 'exit') };
}

const ARRIVE_WITHIN_MS = 60_000;

/** Takes in what the hooks, run by an ordinary user, handed over, and waits for the final records of all jobs. */
async function settle(state: PrivateState, count: number): Promise<void> {
  const { openSqliteReader } = await import('../../accounting/sqlite/sqlite-store.js');
  const deadline = monotonicMs() + ARRIVE_WITHIN_MS;
  for (;;) {
    let reason: string;
    const store = new NodeStore(state.directory);
    try {
      await tidyNode(store, state.settings, 5);
    } finally {
      store.close();
    }
    try {
      const reader = openSqliteReader(state.settings.accounting);
      const { records } = await reader.records({ owner: callerName(), since: 0, until: Date.now() + 60_000 });
      await reader.close();
      const ended = records.filter(({ record }) => record.status !== 'running').length;
      if (ended >= count) return;
      reason = `${ended} of ${count} came`;
    } catch (error) {
      // Usually because the DB does not exist yet.
      reason = reasonOf(error);
    }
    if (monotonicMs() > deadline)
      throw new CommandError(
        `the jobs ran, but their records did not arrive (${reason}); "qmemacct doctor" checks this machine`,
        EXIT.unavailable,
      );
    await sleep(100);
  }
}

/** `demo`: runs three different jobs, then shows their reports; resolves to the exit status. */
async function runDemo(options: DemoOptions, given: Terminal): Promise<number> {
  const directory = mkdtempSync(join(tmpdir(), 'qmemacct-demo-'));
  // Named as the caller's own accounting DB, since only the sums of such a DB count self-reported figures.
  const terminal = { ...given, env: { ...given.env, XDG_STATE_HOME: directory } };
  try {
    const accounting = ownStorePath(terminal.env);
    const state = makePrivateState(directory, { cluster: privateCluster('demo'), accounting });
    const hooks = installHooks(state);
    const jobs = DEMO_JOBS;
    writeLines(terminal, [`Three jobs run through the hooks in ${directory} ...`, '']);
    const submitted = jobs.map((job) => submit(state, hooks, job));
    await Promise.all(submitted.map(({ ended }) => ended));
    await settle(state, jobs.length);
    const common = { ...options, config: state.settingsPath, accounting };
    let status: number = EXIT.found;
    for (const { number } of submitted) {
      status = Math.max(status, await showJobs([`demo-${number}`], common, terminal));
      writeLines(terminal, ['', '']);
    }
    await showRecords(namedSubject('owner', callerName()), { ...common, since: '1h', sort: 'ended' }, terminal);
    if (options.keep)
      warn(
        terminal,
        `kept: qmemacct job demo-${submitted[0]?.number ?? 1} --config ${state.settingsPath} --accounting ${accounting}`,
      );
    return status;
  } finally {
    if (!options.keep) rmSync(directory, { recursive: true, force: true });
  }
}
