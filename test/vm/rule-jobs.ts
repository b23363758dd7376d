import assert from 'node:assert/strict';
import { classesIn } from '../support/rules';
import type { Disk } from './vm';

/** Jobs for shipped rules that need a slow disk or swap: parts of the script of cgroup.test.ts, with its functions. */

/** A disk for swap, and a slow disk. */
export const RULE_DISKS: readonly Disk[] = [{ mib: 512 }, { mib: 16, requestsPerSecond: 10 }];

const read = (requests: number): string => `/bin/dd if=/dev/vdb of=/dev/null bs=4k count=${requests} iflag=direct`;

/** Starts a job that waits for storage all the time and one that does so for a second. Each runs for over a minute. */
export const startReaders = (cpu: string): string => `
  echo 1 >/proc/sys/kernel/task_delayacct
  chmod a+r /dev/vdb
  waits=$(cell_submit -l h_vmem=1G -b y -shell n ${read(700)})
  reads=$(cell_submit -l h_vmem=1G -b y -shell n /bin/sh -c '${read(10)}; ${cpu} --seconds=8; sleep 60')`;

/** Runs a job of which half is swapped out once it holds all its memory, and waits for all of these jobs. */
export const endWithSwap = (steady: string): string => `
  mkswap /dev/vda >/dev/null && swapon /dev/vda
  swaps=$(cell_submit -l h_vmem=1G -b y -shell n ${steady} --mib=300 --hold=20000)
  group=$(group_of "$swaps")
  is_full() { [ "$(cat "$group/memory.current")" -gt 314572800 ]; }
  cell_until 120 is_full
  echo 150M >"$group/memory.max"
  for job in $waits $reads $swaps; do cell_wait "$job" 180; done`;

/** Asserts the jobs' classes; `answerOf`: the output of `qmemacct job --json` by a job's name in the script. */
export function assertRules(answerOf: (name: 'waits' | 'reads' | 'swaps') => string): void {
  const [waits, reads, swaps] = (['waits', 'reads', 'swaps'] as const).map((name) => classesIn(answerOf(name)));
  assert.match(waits?.found['io-bound'] ?? JSON.stringify(waits), /^waited 0:01:\d\d for storage and computed /);
  assert.match(
    swaps?.found.swapping ?? JSON.stringify(swaps),
    /^up to 1\d\d MiB of its memory was swapped out; at most 3\d\d MiB was in RAM/,
  );
  for (const [other, name] of [
    [reads, 'io-bound'],
    [reads, 'swapping'],
    [waits, 'swapping'],
  ] as const)
    assert.ok(other !== undefined && !(name in other.found) && !other.unknown.includes(name), JSON.stringify(other));
}
