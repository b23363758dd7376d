import { tuningFlags } from '../../src/base/node-flags';
import {
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { connectListener } from '../../src/sampler/listener/client';
import { loadSettings } from '../../src/record/settings';
import { NodeStore } from '../../src/sampler/node-store/node-store';
import { delivererIdentity } from '../../src/sampler/delivery/outbox-feeder';
import { packageRoot } from '../../src/base/package-root';
import { sampleConfig } from '../gridengine/spool-samples';
import { release } from '../support/released';
import { temporaryDirectory } from '../support/temporary-directory';

/** A private installation of hooks, state and accounting DB under os.tmpdir(). */
export interface Installation {
  readonly directory: string;
  /** argv of a hook, as Grid Engine runs the configured line. */
  hook(shell: string, name: 'prolog' | 'epilog' | 'empty', job: number): readonly string[];
  /** argv of a prolog that waits until the sampler reports "armed". */
  waitingProlog(shell: string, job: number): readonly string[];
  /** A new spool directory as execd leaves it for the shepherd; `group`: its additional group. */
  spool(job: number, group?: number): string;
  nodeStore(): NodeStore;
  readonly stateDirectory: string;
  /** The accounting DB. */
  readonly accounting: string;
  readonly runDirectory: string;
  /** argv that starts the listener as the installation does. */
  readonly listener: readonly string[];
  /** argv that starts the service of the node scope. */
  readonly service: readonly string[];
  /** Keeps a listener alive, as on a node where jobs run all the time; resolves to a function that releases it. */
  keepListener(): Promise<() => void>;
}

/** Longest wait of the prolog that waits. */
const ARM_WAIT_SECONDS = 2;
/** A group id that no Grid Engine and no login on this machine uses. */
export const BENCH_GROUP = 1_999_900_001;

/** The hooks as installed in `name` below `directory`, with these values of hook.conf beside the common ones. */
function hooksDirectory(directory: string, name: string, values: Readonly<Record<string, string>>): string {
  const hooks = join(directory, name);
  mkdirSync(hooks);
  const source = join(packageRoot(), 'hooks');
  for (const file of readdirSync(source)) if (file.endsWith('.sh')) copyFileSync(join(source, file), join(hooks, file));
  writeFileSync(join(hooks, 'empty.sh'), '#!/bin/sh -p\n:\n');
  const all = {
    node: process.execPath,
    state: join(directory, 'state'),
    run: join(directory, 'run'),
    full_flags: tuningFlags().join(' '),
    ...values,
  };
  writeFileSync(
    join(hooks, 'hook.conf'),
    Object.entries(all)
      .map(([key, value]) => `${key}='${value}'\n`)
      .join(''),
  );
  return hooks;
}

let released: string | null = null;

/** The program as a release has it. */
function releasedProgram(): string {
  // Removed when the benchmark ends.
  if (released !== null && existsSync(released)) return released;
  released = join(temporaryDirectory(0o711), 'program');
  release(released);
  return released;
}

/**
 * Installs a release. `scope`: "node" for prologs that leave their jobs to the service. `listener`: "lasting" as by
 * default; "brief": it ends with the last sampler.
 */
export function install(scope: 'job' | 'node' = 'job', listener: 'lasting' | 'brief' = 'brief'): Installation {
  const program = releasedProgram();
  // Lets the deliverer, which runs as nobody, reach the store.
  const directory = temporaryDirectory(0o711);
  const state = join(directory, 'state');
  const accounting = join(directory, 'accounting');
  mkdirSync(join(state, 'run'), { recursive: true, mode: 0o711 });
  mkdirSync(join(state, 'outbox'), { mode: 0o1733 });
  mkdirSync(join(directory, 'run'), { mode: 0o755 });
  mkdirSync(accounting, { mode: 0o755 });
  const deliverer = delivererIdentity('');
  if (deliverer !== null) chownSync(accounting, deliverer.uid, deliverer.gid);

  const common = [
    'cluster = "bench"',
    `state_dir = "${state}"`,
    `run_dir = "${join(directory, 'run')}"`,
    `accounting = "${join(accounting, 'accounting.db')}"`,
    // The delay spreads nodes over time; here it would only make the runs longer.
    'delivery_jitter_ms = 0',
    ...(listener === 'lasting' ? [] : ['listener_linger = 0']),
    // The cost at 1 Hz is measured, so the interval must not be stretched.
    'cpu_budget_percent = 100',
    `scope = "${scope}"`,
    `execd_spool_dir = "${join(directory, 'spool')}"`,
  ];
  const settings = join(directory, 'qmemacct.toml');
  writeFileSync(settings, `${common.join('\n')}\n`);
  const waitingSettings = join(directory, 'waiting.toml');
  writeFileSync(waitingSettings, `${[...common, `arm_wait_ms = ${ARM_WAIT_SECONDS * 500}`].join('\n')}\n`);
  const hooks = hooksDirectory(directory, 'hooks', { settings, arm_wait: '0', scope, program });
  const waiting = hooksDirectory(directory, 'waiting', {
    ...{ settings: waitingSettings, arm_wait: String(ARM_WAIT_SECONDS), scope, program },
  });

  const shells = new Map<string, string>();
  /** A shell that is called sh behaves as /bin/sh. */
  function asSh(shell: string): string {
    const known = shells.get(shell);
    if (known !== undefined) return known;
    const place = join(directory, `shell-${shells.size}`);
    mkdirSync(place);
    const link = join(place, 'sh');
    symlinkSync(shell, link);
    shells.set(shell, link);
    return link;
  }
  const line = (where: string, shell: string, name: string, job: number): readonly string[] => [
    '/usr/bin/env',
    '-i',
    asSh(shell),
    '-p',
    join(where, `${name}.sh`),
    String(job),
    '0',
  ];

  return {
    directory,
    stateDirectory: state,
    accounting: join(accounting, 'accounting.db'),
    runDirectory: join(directory, 'run'),
    listener: ['/bin/sh', '-p', join(hooks, 'listener.sh'), '--renew'],
    service: ['/bin/sh', '-p', join(hooks, 'sampler.sh')],
    hook: (shell, name, job) => line(hooks, shell, name, job),
    waitingProlog: (shell, job) => line(waiting, shell, 'prolog', job),
    spool: (job, group = BENCH_GROUP) => {
      const spool = join(directory, 'spool', hostname(), 'active_jobs', `${job}.1`);
      mkdirSync(spool, { recursive: true, mode: 0o755 });
      const now = String(Math.floor(Date.now() / 1000));
      const changes = { job_id: String(job), add_grp_id: String(group), submission_time: now, h_vmem: '4G' };
      writeFileSync(join(spool, 'config'), sampleConfig(changes));
      writeFileSync(join(spool, 'environment'), 'HOME=/home/alice\nPATH=/usr/bin:/bin\nLANG=C\n');
      for (const name of ['trace', 'error', 'exit_status']) writeFileSync(join(spool, name), '');
      return spool;
    },
    nodeStore: () => new NodeStore(state),
    keepListener: async () => {
      const link = await connectListener(settings, loadSettings(settings), {
        take: () => undefined,
        lost: () => undefined,
      });
      return () => link?.close();
    },
  };
}

/** The shells of this machine that can be /bin/sh. */
export function shells(): readonly string[] {
  return [...new Set(['/bin/dash', '/bin/bash'].filter((path) => existsSync(path)).map((path) => realpathSync(path)))];
}
