import { metricsOf, USUAL, type Metric, type SourceFacts } from '../source';

const { counter } = metricsOf('taskstats', 'job');
const THOUSANDTHS = { resolution: 1000 };

const delay = (name: string, what: string): Metric =>
  counter(`${name}_delay`, 'seconds', `Time that processes, by the time they ended, had waited ${what}.`, THOUSANDTHS);

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
    counter('processes', 'count', 'Processes that were forked in the job.'),
    counter('ended_processes', 'count', 'Processes whose end the kernel reported.'),
    counter('unsampled_processes', 'count', 'Processes that lived and ended between two samples.'),
    counter(
      'cgroup_oom_kills',
      'count',
      'Processes that the OOM killer ended for a full cgroup; absent: none was seen.',
    ),
    counter(
      'node_oom_kills',
      'count',
      'Processes that the OOM killer ended for lack of memory on the node; absent: none was seen.',
    ),
    counter(
      'cpu',
      'seconds',
      'CPU time of processes that have ended, by the scheduler, without what the end of each takes.',
      THOUSANDTHS,
    ),
    counter('minor_faults', 'count', 'Page faults without input, of processes that have ended.'),
    counter('major_faults', 'count', 'Page faults that waited for input, of processes that have ended.'),
    counter('read_chars', 'bytes', 'Bytes through read calls, of processes that have ended.'),
    counter('write_chars', 'bytes', 'Bytes through write calls, of processes that have ended.'),
    counter('read_syscalls', 'count', 'Read calls of processes that have ended.'),
    counter('write_syscalls', 'count', 'Write calls of processes that have ended.'),
    counter('read', 'bytes', 'Bytes read from storage by processes that have ended.'),
    counter('write', 'bytes', 'Bytes written to storage by processes that have ended.'),
    counter('cancelled_write', 'bytes', 'Writes that a later truncation made needless.'),
    counter('voluntary_switches', 'count', 'Context switches of threads that waited for something.'),
    counter('involuntary_switches', 'count', 'Context switches of threads whose time was up.'),
    counter('rss', 'byte_seconds', 'Resident memory integrated over CPU time, of user and system (coremem).'),
    counter('vmem', 'byte_seconds', 'Address space integrated over CPU time, of user and system (virtmem).'),
    delay('cpu', 'for a CPU while runnable, 0.1 s at most for each time that a thread got one'),
    delay('block_io', 'for synchronous block input and output'),
    delay('swap_in', 'for pages to be swapped in'),
    delay('free_pages', 'for memory to be reclaimed'),
    delay('thrashing', 'for pages of the working set that had been evicted'),
    delay('compact', 'for memory to be compacted'),
  ],
  interval: 1,
};
