import { KIB } from '../../base/units';
import { metricsOf, USUAL, type Metric, type SourceFacts } from '../source';

const ofJob = metricsOf('process', 'job');

const bytes = (what: string, help: string, kind: Metric['kind'] = 'gauge'): Metric =>
  ofJob[kind](what, 'bytes', help, { resolution: 1 / KIB });

/** One value for a whole run. */
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
    bytes('vmem', "Address space over the job's distinct address spaces (statm)."),
    bytes('swap', "Swapped-out memory over the job's distinct address spaces (VmSwap in status)."),
    bytes(
      'anonymous',
      "Anonymous memory over the job's distinct address spaces, in RAM or swapped out (RssAnon and VmSwap in status).",
    ),
    bytes('file', 'Resident pages of files, page by page of every process that maps them (RssFile in status).'),
    bytes(
      'shmem',
      'Resident shared memory and tmpfs, page by page of every process that maps them (RssShmem in status).',
    ),
    ofJob.counter('cpu', 'seconds', 'User and system time of living processes and of those that have ended (stat).', {
      resolution: 1000,
    }),
    ofJob.gauge('count', 'count', 'Living processes of the job.'),
    ofJob.gauge('threads', 'count', "Threads of the job's living processes (stat)."),
    bytes('read', 'Read from storage, since the start of the job (read_bytes in io).', 'counter'),
    bytes('written', 'Written to storage, since the start of the job (write_bytes in io).', 'counter'),
  ],
  interval: 1,
};
