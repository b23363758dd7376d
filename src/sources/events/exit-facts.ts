import { USUAL, type Metric, type SourceFacts } from '../source';

const metric = (name: string, unit: Metric['unit'], help: string, resolution = 1): Metric => ({
  name: `taskstats_${name}`,
  unit,
  kind: 'counter',
  scope: 'job',
  resolution,
  help,
});

const delay = (name: string, what: string): Metric =>
  metric(`${name}_delay_seconds`, 'seconds', `Time that processes, by the time they ended, had waited ${what}.`, 1000);

/** What the kernel's exit records say of a job: of all its processes, also those that no sample ever saw. */
export const taskstats: SourceFacts = {
  ...USUAL,
  name: 'taskstats',
  reads: [
    'netlink: process connector (fork, exec, exit)',
    'netlink: TASKSTATS exit records',
    '/dev/kmsg (victims of the OOM killer)',
  ],
  metrics: [
    metric('processes', 'count', 'Processes that were forked in the job.'),
    metric('ended_processes', 'count', 'Processes whose end the kernel reported.'),
    metric('unsampled_processes', 'count', 'Processes that lived and ended between two samples.'),
    metric(
      'cgroup_oom_kills',
      'count',
      'Processes that the OOM killer ended for a full cgroup; absent: none was seen.',
    ),
    metric('node_oom_kills', 'count', 'Processes that it ended for lack of memory on the node; absent: none was seen.'),
    metric(
      'cpu_seconds',
      'seconds',
      'CPU time of processes that have ended, by the scheduler, without what the end of each takes.',
      1000,
    ),
    metric('minor_faults', 'count', 'Page faults without input, of processes that have ended.'),
    metric('major_faults', 'count', 'Page faults that waited for input, of processes that have ended.'),
    metric('read_chars_bytes', 'bytes', 'Bytes through read calls, of processes that have ended.'),
    metric('write_chars_bytes', 'bytes', 'Bytes through write calls, of processes that have ended.'),
    metric('read_syscalls', 'count', 'Read calls of processes that have ended.'),
    metric('write_syscalls', 'count', 'Write calls of processes that have ended.'),
    metric('read_bytes', 'bytes', 'Bytes read from storage by processes that have ended.'),
    metric('write_bytes', 'bytes', 'Bytes written to storage by processes that have ended.'),
    metric('cancelled_write_bytes', 'bytes', 'Writes that a later truncation made needless.'),
    metric('voluntary_switches', 'count', 'Context switches of threads that waited for something.'),
    metric('involuntary_switches', 'count', 'Context switches of threads whose time was up.'),
    metric('rss_byte_seconds', 'byte_seconds', 'Resident memory integrated over system CPU time (coremem).'),
    metric('vmem_byte_seconds', 'byte_seconds', 'Address space integrated over system CPU time (virtmem).'),
    delay('cpu', 'for a CPU while runnable'),
    delay('block_io', 'for synchronous block input and output'),
    delay('swap_in', 'for pages to be swapped in'),
    delay('free_pages', 'for memory to be reclaimed'),
    delay('thrashing', 'for pages of the working set that had been evicted'),
    delay('compact', 'for memory to be compacted'),
  ],
  interval: 1,
};
