import { chmodSync, existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openSqliteReader } from '../../src/accounting/sqlite/sqlite-store';
import type { JobRecord } from '../../src/record/record';
import { SETTINGS_FILE } from '../../src/record/settings';
import type { JobAttempt } from '../../src/accounting/store';
import type { Cell, CommandResult } from './cell';
import { kind } from './kind';
import { COMMAND } from '../support/qmemacct';
import { PATIENCE_MS } from '../support/until';

const QMEMACCT = ['node', COMMAND] as const;

/** The product as a site has it: installed on every execution host, with hooks configured by `qmemacct install`. */
export interface Product {
  readonly accounting: string;
  /** The directory into which `install --node` put the program. */
  readonly prefix: string;
  /** Runs `qmemacct ARGUMENTS` on a host as root. */
  run(host: string, ...words: readonly string[]): Promise<CommandResult>;
  /** Records of a job in the accounting DB, as soon as there are `count` of runs that have ended. Rejects after PATIENCE_MS. */
  records(job: string | number, count?: number): Promise<readonly JobAttempt[]>;
  /** The first record of a job, as soon as the job's run has ended. */
  record(job: string | number): Promise<JobRecord>;
  /** The records of a job in the accounting DB now, also of runs that have not ended. */
  currentRecords(job: string | number): Promise<readonly JobAttempt[]>;
}

export interface ProductOptions {
  readonly plain?: boolean;
  /** Lines for qmemacct.toml on every host. */
  readonly settings?: string;
}

/** Shell script that gives a host directories of its own where `install --node` would write to the machine's. */
export const MOUNT_PRIVATE_DIRECTORIES = [
  'mkdir -p /etc/cron.d /etc/tmpfiles.d',
  'mount -t tmpfs none /etc/cron.d',
  'mount -t tmpfs none /etc/tmpfiles.d',
  'layer=/run/qmemacct/layer; mkdir -p $layer; mount -t tmpfs none $layer; mkdir $layer/upper $layer/work',
  'mount -t overlay none -o lowerdir=/usr/local/bin,upperdir=$layer/upper,workdir=$layer/work /usr/local/bin',
].join(' && ');

/**
 * Settings of a cell's hosts. The kernel's events reach only the network namespace that the cell was made from, and that
 * of the init process can't be entered everywhere. A listener that stays would serve the next test's jobs too, so it ends
 * after a second unless the test sets `listener_linger`.
 */
export function settingsOf(cell: Cell, settings: string): string {
  const linger = /^listener_linger\b/m.test(settings) ? '' : 'listener_linger = 1\n';
  return `initial_network_namespace = "${cell.initialNetns}"\n${linger}${settings}\n`;
}

/** Shell script that ends the listener that the installation has started with the settings from before. */
const END_LISTENER =
  'until [ -s /run/qmemacct/listener/pid ]; do sleep 0.1; done; kill "$(sed -n s/^pid=//p /run/qmemacct/listener/pid)"';

function fail(result: CommandResult, what: string): never {
  throw new Error(`${what}: status ${result.status}\n${result.stdout}\n${result.stderr}`);
}

/** Installs the built project on the cell's execution hosts and configures the hooks, with the real commands. */
export async function installProduct(cell: Cell, options: ProductOptions = {}): Promise<Product> {
  const prefix = join(cell.stateDir, 'opt');
  const accounting = newAccounting(cell);
  for (const host of cell.execHosts) {
    await cell.check(host, MOUNT_PRIVATE_DIRECTORIES);
    await installOn(cell, host, prefix, accounting);
    await cell.check(host, `cat >>${SETTINGS_FILE}`, { stdin: settingsOf(cell, options.settings ?? '') });
    // The hooks and the listener get these settings from the installation.
    if (/^(arm_wait_ms\b|scope\b|listener_linger = inf$|accept_self_reported\b)/m.test(options.settings ?? ''))
      await installOn(cell, host, prefix, accounting);
    else await cell.check(host, END_LISTENER);
  }
  await configureHooks(cell, prefix, options.plain ?? false);
  return productOf(cell, { prefix, accounting });
}

/** Path of a cell's accounting DB; makes its directory. */
export function newAccounting(cell: Cell): string {
  const directory = join(cell.stateDir, 'accounting');
  mkdirSync(directory, { recursive: true });
  chmodSync(directory, 0o755);
  return join(directory, 'accounting.db');
}

/** A product that is installed on a cell; `command`: how root starts qmemacct there. */
export function productOf(
  cell: Cell,
  { prefix, accounting }: Pick<Product, 'prefix' | 'accounting'>,
  command: readonly string[] = QMEMACCT,
): Product {
  const run = (host: string, ...words: readonly string[]): Promise<CommandResult> =>
    cell.on(host, [...command, ...words]);

  async function present(job: string | number): Promise<readonly JobAttempt[]> {
    if (!existsSync(accounting)) return [];
    const reader = openSqliteReader(accounting);
    try {
      return (await reader.job({ job_id: Number(job), all: true })).records;
    } finally {
      await reader.close();
    }
  }

  async function records(job: string | number, count = 1): Promise<readonly JobAttempt[]> {
    const deadline = Date.now() + PATIENCE_MS;
    for (;;) {
      const found = (await present(job)).filter(({ record }) => record.status !== 'running');
      if (found.length >= count) return found;
      if (Date.now() > deadline)
        throw new Error(
          `job ${job}: ${found.length} of ${count} records after ${PATIENCE_MS} ms\n${await traces(cell)}`,
        );
      await sleep(100);
    }
  }

  return {
    accounting,
    prefix,
    run,
    currentRecords: present,
    records,
    record: async (job) => {
      const [first] = await records(job);
      if (first === undefined) throw new Error('unreachable');
      return first.record;
    },
  };
}

async function installOn(cell: Cell, host: string, prefix: string, accounting: string): Promise<void> {
  const words = ['install', '--node', '--yes', '--prefix', prefix, '--accounting', accounting];
  const result = await cell.on(host, [...QMEMACCT, ...words]);
  if (result.status !== 0) fail(result, `install --node on ${host}`);
}

/** Makes the prolog wait at most `ms` for the sampler from now on. All hosts share the program's directory. */
export async function setArmWait(cell: Cell, { prefix, accounting }: Product, ms: number): Promise<void> {
  const set = `{ echo 'arm_wait_ms = ${ms}'; grep -v '^arm_wait_ms' ${SETTINGS_FILE}.old; }`;
  for (const host of cell.execHosts) {
    await cell.check(host, `cp ${SETTINGS_FILE} ${SETTINGS_FILE}.old && ${set} >${SETTINGS_FILE}`);
    await installOn(cell, host, prefix, accounting);
  }
}

/** Options of `install` for a static `env`, if this kind of Grid Engine needs one for root's hooks. */
export function envOptions(cell: Cell): readonly string[] {
  if (!kind.wantsStaticEnv) return [];
  const env = join(cell.stateDir, 'env');
  if (!existsSync(env)) symlinkSync('/bin/busybox', env);
  return ['--env', env];
}

/** Sets the hooks by `qmemacct install` on the master, and waits until every execd uses them. */
export async function configureHooks(cell: Cell, prefix: string, plain: boolean): Promise<void> {
  const safe = envOptions(cell);
  const words = ['install', '--yes', '--hosts-checked', '--prefix', prefix, ...(plain ? ['--plain'] : safe)];
  const result = await cell.on(cell.master, [...QMEMACCT, ...words]);
  if (result.status !== 0) fail(result, 'install');
  await cell.waitForHookConfig();
}

/** Content of the hosts' state directories, for the message of a test that fails. */
async function traces(cell: Cell): Promise<string> {
  const parts: string[] = [];
  for (const host of cell.execHosts) {
    const script =
      'find /var/lib/qmemacct /run/qmemacct | head -50; ' +
      'find /var/lib/qmemacct/run /run/qmemacct/run -name job -exec cat {} + | head -60';
    parts.push(`${host}: ${(await cell.on(host, script)).stdout}`);
  }
  return parts.join('\n');
}
