import { USUAL, type Metric, type SourceFacts } from '../source';

const KIB = 1 / 1024;

const bytes = (what: string, help: string, kind: Metric['kind'] = 'gauge'): Metric => ({
  name: `process_${what}_bytes`,
  unit: 'bytes',
  kind,
  scope: 'job',
  resolution: KIB,
  help,
});

/** Of a whole run. */
export const SWAP_PEAK = bytes(
  'swap_peak',
  'The most of process_swap_bytes that was sampled; left out where it was 0.',
);

/** What the sampler itself reads of every process of a job, summed over the job. */
export const processes: SourceFacts = {
  ...USUAL,
  name: 'process',
  reads: ['/proc/PID/stat', '/proc/PID/statm', '/proc/PID/status', '/proc/PID/io'],
  metrics: [
    bytes('rss', "Resident memory over the job's distinct address spaces (statm)."),
    bytes('vmem', 'Address space over the same (statm).'),
    bytes('swap', 'Swapped-out memory over the same (VmSwap in status).'),
    bytes('anonymous', 'Anonymous memory over the same, in RAM or swapped out (RssAnon and VmSwap in status).'),
    bytes('file', 'Resident pages of files, page by page of every process that maps them (RssFile in status).'),
    bytes('shmem', 'Resident shared memory and tmpfs, likewise (RssShmem in status).'),
    {
      name: 'process_cpu_seconds',
      unit: 'seconds',
      kind: 'counter',
      scope: 'job',
      resolution: 1000,
      help: 'User and system time of living processes and of those that have ended (stat).',
    },
    { name: 'process_count', unit: 'count', kind: 'gauge', scope: 'job', help: 'Living processes of the job.' },
    { name: 'process_threads', unit: 'count', kind: 'gauge', scope: 'job', help: 'Threads of these processes (stat).' },
    bytes('read', 'Read from storage, since the start of the job (read_bytes in io).', 'counter'),
    bytes('written', 'Written to storage, since the start of the job (write_bytes in io).', 'counter'),
  ],
  interval: 1,
};
