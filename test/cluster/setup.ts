import { chmodSync, chownSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { formatSettings } from './formats';
import type { Hosts } from './hosts';
import { adminUser, kind } from './kind';
import { cellNumber, productDirs, type Layout } from './layout';
import { parallelEnvironments, type ParallelEnvironment } from './parallel-environments';
import type { Settings } from './settings';
import type { CellHost, CellState } from './state';
import { findUser, freeGroupRange, writeUserFiles } from './users';

export interface ConfigOptions {
  /** Consumable kind and default of the complex h_vmem. */
  readonly hVmem: { readonly consumable: 'YES' | 'NO' | 'JOB'; readonly default: string };
  /** The value of execd_params, such as KEEP_ACTIVE=true. */
  readonly execdParams: string;
  /** Seconds between load reports: how old live usage can be, and how soon a changed configuration is noticed. */
  readonly loadReportSeconds: number;
}

export const slotsPerHost = 64;
/** Additional group ids of one execution host; a running task needs one. */
const groupsPerHost = 500;
/** Room for four hosts. The cells of this machine share one /proc, so no two of them may use the same group id. */
const firstGroupRange = 41_000 + 4 * groupsPerHost * cellNumber;

/** Writes everything that the hosts find mounted: SGE_ROOT, the spool, users, homes, the product's directories. */
export function writeFiles(layout: Layout, state: CellState): void {
  const dirs = [layout.namespaces, layout.root, layout.etc, layout.homes, layout.jobTmp];
  for (const dir of dirs) mkdirSync(dir, { recursive: true });
  const hosts = state.hosts.map(({ address, name }) => `${address} ${name}\n`);
  writeFileSync(join(layout.etc, 'hosts'), `127.0.0.1 localhost\n${hosts.join('')}`);
  writeUserFiles(layout, state.users);
  writeRoot(layout, state.hosts);
  for (const host of state.hosts) {
    mkdirSync(layout.hostTmp(host.name), { recursive: true });
    chmodSync(layout.hostTmp(host.name), 0o1777);
    for (const dir of productDirs) mkdirSync(layout.productDir(host.name, dir), { recursive: true });
  }
}

/** Gives a fresh qmaster its hosts, queue, parallel environments and parameters, before the execds start. */
export async function configure(
  layout: Layout,
  hosts: Hosts,
  settings: Settings,
  options: ConfigOptions,
): Promise<void> {
  const names = hosts.all.map(({ name }) => name).join(',');
  await settings.qconf(['-ah', names]);
  await settings.qconf(['-as', names]);
  for (const host of hosts.exec) await settings.qconfFile('-Ae', host, executionHost(host));
  await settings.put('hgrp', '@allhosts', `group_name @allhosts\nhostlist ${hosts.exec.join(' ')}\n`);
  for (const pe of parallelEnvironments) await settings.qconfFile('-Ap', pe.name, formatParallelEnvironment(pe));
  const { consumable, default: preset } = options.hVmem;
  await settings.changeComplex(['h_vmem', 'h_vmem', 'MEMORY', '<=', 'YES', consumable, preset, '0']);
  await addQueue(layout, settings);
  await tuneScheduler(settings);
  await settings.changeConfig('global', {
    execd_params: options.execdParams,
    load_report_time: `00:00:${String(options.loadReportSeconds).padStart(2, '0')}`,
    administrator_mail: 'none',
    mailer: '/bin/true',
    reporting_params:
      'accounting=true reporting=false flush_time=00:00:15 accounting_flush_time=00:00:00 joblog=false sharelog=00:00:00',
  });
  for (const [index, host] of hosts.exec.entries()) {
    // The hosts share one /proc, and each execd knows its own jobs only: with a common range, jobs of two hosts would
    // get the same group, and the end of one would kill the other. If a user's own group were in the range, the end of
    // a job would kill that user's processes everywhere.
    const first = freeGroupRange(firstGroupRange + index * groupsPerHost, groupsPerHost);
    await settings.qconfFile('-Aconf', host, `gid_range ${first}-${first + groupsPerHost - 1}\n`);
  }
}

/** Writes SGE_ROOT and the spool; Grid Engine's admin user owns their directories, as after an installation. */
function writeRoot(layout: Layout, hosts: readonly CellHost[]): void {
  mkdirSync(layout.spool);
  kind.writeFiles(layout, hosts);
  const { uid, gid } = findUser(layout, adminUser);
  const { root, common, spool } = layout;
  const dirs = [root, join(root, 'default'), common, join(common, 'act_qmaster'), spool];
  for (const path of [...dirs, ...['qmaster', 'spooldb', 'execd'].map((name) => join(spool, name))])
    if (existsSync(path)) chownSync(path, uid, gid);
}

async function addQueue(layout: Layout, settings: Settings): Promise<void> {
  const queue = await settings.show('-sq');
  const changes: [string, string][] = [
    ['qname', 'all.q'],
    ['hostlist', '@allhosts'],
    ['load_thresholds', 'NONE'],
    ['pe_list', parallelEnvironments.map(({ name }) => name).join(' ')],
    ['slots', String(slotsPerHost)],
    ['tmpdir', layout.jobTmp],
    ['shell', '/bin/bash'],
    ['shell_start_mode', 'posix_compliant'],
  ];
  await settings.put('q', 'all.q', formatSettings(new Map([...queue, ...changes])));
}

async function tuneScheduler(settings: Settings): Promise<void> {
  const scheduler = await settings.show('-ssconf');
  const changes: [string, string][] = [
    ['schedule_interval', '0:0:1'],
    ['flush_submit_sec', '1'],
    ['flush_finish_sec', '1'],
    // Spreads jobs that start together over the hosts; delays none, as the queue has no load thresholds.
    ['job_load_adjustments', 'np_load_avg=0.50'],
    ['max_pending_tasks_per_job', '1000'],
    // Open Cluster Scheduler's default is false.
    ['schedd_job_info', 'true'],
  ];
  await settings.qconfFile('-Msconf', 'scheduler', formatSettings(new Map([...scheduler, ...changes])));
}

function executionHost(name: string): string {
  return formatSettings(
    new Map([
      ['hostname', name],
      ['load_scaling', 'NONE'],
      // A host without a value has as many slots as processors in Open Cluster Scheduler.
      ['complex_values', `h_vmem=200G,slots=${slotsPerHost}`],
      ['user_lists', 'NONE'],
      ['xuser_lists', 'NONE'],
      ['projects', 'NONE'],
      ['xprojects', 'NONE'],
      ['usage_scaling', 'NONE'],
      ['report_variables', 'NONE'],
    ]),
  );
}

function formatParallelEnvironment(pe: ParallelEnvironment): string {
  return formatSettings(
    new Map([
      ['pe_name', pe.name],
      ['slots', '999'],
      ['user_lists', 'NONE'],
      ['xuser_lists', 'NONE'],
      ['start_proc_args', 'NONE'],
      ['stop_proc_args', 'NONE'],
      ['allocation_rule', pe.allocationRule],
      ['control_slaves', 'TRUE'],
      ['job_is_first_task', pe.jobIsFirstTask ? 'TRUE' : 'FALSE'],
      ['urgency_slots', 'min'],
      ['accounting_summary', pe.accountingSummary ? 'TRUE' : 'FALSE'],
      ...Object.entries(kind.parallelEnvironment),
    ]),
  );
}
