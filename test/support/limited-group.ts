import { accessSync, constants, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { spawn, type ChildProcess } from 'node:child_process';
import type { TestContext } from 'node:test';
import { until } from './until';

const MEMORY = '/sys/fs/cgroup/memory';

/** Why a test can't provoke the OOM killer here or read the kernel log; false: it can. */
export const noOomKill: string | false = (() => {
  try {
    accessSync('/dev/kmsg', constants.R_OK);
    accessSync(join(MEMORY, 'memory.limit_in_bytes'), constants.R_OK);
    accessSync(MEMORY, constants.W_OK);
    return process.geteuid?.() === 0 ? false : 'not root';
  } catch {
    return 'no memory controller of cgroup v1, or no kernel log';
  }
})();

/** Starts a process that allocates more memory than its control group allows, so that the kernel kills it. */
export function overfull(t: TestContext): ChildProcess {
  const group = join(MEMORY, `qmemacct-test-${process.pid}`);
  mkdirSync(group);
  t.after(() =>
    until(() => {
      try {
        rmdirSync(group);
        return true;
      } catch {
        return false;
      }
    }),
  );
  writeFileSync(join(group, 'memory.limit_in_bytes'), String(20 * 1024 * 1024));
  const program = `echo $$ >${join(group, 'cgroup.procs')}; exec "$0" -e 'Buffer.alloc(2e8, 1)'`;
  return spawn('/bin/sh', ['-c', program, process.execPath], { stdio: 'ignore' });
}
