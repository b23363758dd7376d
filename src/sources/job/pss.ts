import { closeSync, existsSync, openSync, readdirSync, readSync } from 'node:fs';
import { codeOf } from '../../base/error-code';
import { memoryOfAnyThread, ProcessFiles } from '../proc/process-files';
import {
  metricsOf,
  reading,
  unavailable,
  USUAL,
  type Metric,
  type OpenProcessSource,
  type ProcessSource,
  type Reading,
} from '../source';
import { SmapsReader, type SharedMemory } from './smaps';

const { gauge: ofProcess } = metricsOf('pss', 'process');
const { gauge: ofJob } = metricsOf('pss', 'job');

const SKIPPED = ofJob(
  'skipped_processes',
  'count',
  'Processes with memory that were left out: too dear to read, or not allowed.',
);
const READ = ofJob('read', 'seconds', 'How long it took to read all processes.', { resolution: 1_000_000 });

const METRICS: readonly Metric[] = [
  {
    ...ofProcess('', 'bytes', 'Resident pages, each divided by the number of processes that map it (Pss).'),
    name: 'pss_bytes',
  },
  ofProcess('anon', 'bytes', 'Anonymous part of Pss (Pss_Anon); before Linux 5.4 a lower bound.'),
  ofProcess('file', 'bytes', 'Part of Pss that maps files (Pss_File); not on Linux 4.14 to 5.3.'),
  ofProcess('shmem', 'bytes', 'Shared memory and tmpfs in Pss (Pss_Shmem); not on Linux 4.14 to 5.3.'),
  ofProcess(
    'swap',
    'bytes',
    'Swapped pages, each divided by the number of processes that map it (SwapPss); from Linux 4.3.',
  ),
  ofProcess('uss', 'bytes', 'Resident pages that no other process maps (Private_Clean and Private_Dirty).'),
  ofProcess(
    'shared',
    'bytes',
    'Resident pages that other processes map, too, undivided (Shared_Clean and Shared_Dirty).',
  ),
  ofProcess('anon_huge', 'bytes', 'Anonymous memory in transparent huge pages (AnonHugePages).'),
  ofProcess('hugetlb', 'bytes', 'Pages of hugetlbfs, undivided: they are in no other figure of a process.'),
  ofProcess(
    'footprint',
    'bytes',
    'Pss_Anon + Pss_Shmem + SwapPss, and no more than the process still held when the last one had been read.',
  ),
  SKIPPED,
  READ,
];

/**
 * What a page costs at worst, for a process that was not read yet. The kernel walks the page tables: measured 54 ns for
 * a page of 4 KiB (14 ms a GiB), next to nothing in huge pages, and 0.3 us for a mapping; doubled for slower machines.
 */
const SECONDS_PER_PAGE = 100e-9;
/** Below this many pages the time spent says nothing about a page. */
const TELLING_PAGES = 25_600;
/** A process with too many mappings is tried again after this long; figures of processes that were not seen are dropped. */
const REMEMBER_MS = 600_000;

/** One read gives a page of text at most, whatever is asked for. */
const buffer = Buffer.allocUnsafe(16_384);

type Failure = 'gone' | 'unreadable' | 'too many mappings';

function readSmaps(path: string, mostMaps: number): SharedMemory | Failure {
  const reader = new SmapsReader();
  let fd: number;
  try {
    fd = openSync(path, 'r');
  } catch (error) {
    return failure(error);
  }
  try {
    for (;;) {
      const length = readSync(fd, buffer, 0, buffer.length, null);
      if (length === 0) return reader.result() ?? 'gone';
      reader.add(buffer.toString('latin1', 0, length));
      if (reader.maps() > mostMaps) return 'too many mappings';
    }
  } catch (error) {
    return failure(error);
  } finally {
    closeSync(fd);
  }
}

function failure(error: unknown): Failure {
  const code = codeOf(error);
  return code === 'ENOENT' || code === 'ESRCH' ? 'gone' : 'unreadable';
}

interface Candidate {
  readonly pid: number;
  /** Where its files are: its own directory, or that of a living thread once the first one has exited. */
  readonly directory: string;
  readonly pages: number;
}

/** null: gone, or without an address space (zombies, kernel threads). */
function candidate(proc: string, pid: number): Candidate | null {
  const statm = new ProcessFiles(pid, { left: 0 }, proc).statm();
  if (statm === null) return null;
  if (statm.size > 0) return { pid, directory: `${proc}/${pid}`, pages: statm.resident };
  const tasks = `${proc}/${pid}/task`;
  try {
    for (const tid of readdirSync(tasks)) {
      const ofThread = new ProcessFiles(Number(tid), { left: 0 }, tasks).statm();
      if (ofThread !== null && ofThread.size > 0)
        return { pid, directory: `${tasks}/${tid}`, pages: ofThread.resident };
    }
  } catch {
    return null;
  }
  return null;
}

/** What a process holds now at most: anonymous, shared and swapped, undivided. Read without touching its memory. */
function heldBytes(proc: string, pid: number): number {
  const memory = new ProcessFiles(pid, { left: 0 }, proc).memory() ?? memoryOfAnyThread(pid, proc);
  if (memory === null) return 0;
  const split = memory.rssAnon + memory.rssFile + memory.rssShmem > 0;
  return ((split ? memory.rssAnon + memory.rssShmem : memory.vmRss) + memory.vmSwap) * 1024;
}

/** At most `held`: processes are read one after another, and memory that one freed and the next took counts once. */
const footprint = (memory: SharedMemory, held: number): number =>
  Math.min(held, memory.pssAnon + (memory.pssShmem ?? 0) + (memory.swapPss ?? 0));

function readings(pid: number, memory: SharedMemory, held: number): readonly Reading[] {
  const values: readonly (number | null)[] = [
    memory.pss,
    memory.pssAnon,
    memory.pssFile,
    memory.pssShmem,
    memory.swapPss,
    memory.privateClean + memory.privateDirty,
    memory.sharedClean + memory.sharedDirty,
    memory.anonHuge,
    memory.hugetlb,
    footprint(memory, held),
  ];
  return values.flatMap((value, index) =>
    value === null ? [] : { metric: METRICS[index]?.name ?? '', instance: '', value, pid },
  );
}

interface Known {
  readonly atMs: number;
  readonly pages: number;
  readonly seconds: number;
  readonly tooManyMaps: boolean;
}

/** Expected time for one process: by its own last reading where it has one, since huge pages cost next to nothing. */
function expectedSeconds(pages: number, known: Known | undefined): number {
  if (known === undefined || known.pages < TELLING_PAGES) return pages * SECONDS_PER_PAGE;
  return (known.seconds * pages) / known.pages;
}

function openPss(
  proc: string,
  file: 'smaps_rollup' | 'smaps',
  most: { readonly maps: number; readonly seconds: number },
  now: () => number,
): OpenProcessSource {
  const known = new Map<number, Known>();

  return {
    read: (pids, about) => {
      const begun = now();
      for (const [pid, { atMs }] of known) if (begun - atMs > REMEMBER_MS) known.delete(pid);
      const read: { readonly pid: number; readonly memory: SharedMemory }[] = [];
      let skipped = 0;
      let unreadable = 0;
      // The largest first: what goes wrong later then matters least.
      const found = pids.flatMap((pid) => candidate(proc, pid) ?? []).sort((a, b) => b.pages - a.pages);
      for (const { pid, directory, pages } of found) {
        const before = known.get(pid);
        if (before?.tooManyMaps === true || expectedSeconds(pages, before) > most.seconds) {
          skipped++;
          continue;
        }
        about?.(pid);
        const started = now();
        const memory = readSmaps(`${directory}/${file}`, most.maps);
        const ended = now();
        if (typeof memory === 'object') read.push({ pid, memory });
        else if (memory !== 'gone') skipped++;
        if (memory === 'unreadable') unreadable++;
        known.set(pid, {
          atMs: ended,
          pages,
          seconds: (ended - started) / 1000,
          tooManyMaps: memory === 'too many mappings',
        });
      }
      if (read.length === 0 && unreadable > 0)
        return unavailable(
          `/proc/PID/${file}: permission denied`,
          'run the hooks as root (root@ in the prolog), in no container without CAP_SYS_PTRACE',
        );
      return [
        ...read.flatMap(({ pid, memory }) => readings(pid, memory, heldBytes(proc, pid))),
        reading(SKIPPED, skipped),
        reading(READ, Math.max(0, now() - begun) / 1000),
      ];
    },
    close: () => {
      known.clear();
    },
  };
}

/**
 * Memory of a job's processes with shared pages divided. Threads and processes that share an address space (CLONE_VM)
 * would be counted again: the caller gives one pid per address space.
 *
 * Mappings are not counted beforehand: reading `maps` for that costs more than smaps_rollup itself (1.4 against 1.2 ms
 * for 5,000). For the rollup the resident set decides, which is known; reading the full smaps is given up half-way.
 */
export const pss: ProcessSource = {
  ...USUAL,
  name: 'pss',
  reads: ['/proc/PID/smaps_rollup', '/proc/PID/smaps (before Linux 4.14)', '/proc/PID/statm', '/proc/PID/status'],
  metrics: METRICS,
  blocking: true,
  interval: 30,
  options: {
    // A mapping of the full smaps costs some 10 us to make and to parse: 2,000 take about 20 ms.
    most_maps: 2000,
    // Expected time for one process beyond which it is left out; well below helper_deadline.
    most_seconds: 2,
  },
  open: ({ proc, now, options }) => {
    const rollup = existsSync(`${proc}/self/smaps_rollup`);
    if (!rollup && !existsSync(`${proc}/self/smaps`))
      return unavailable('no /proc/PID/smaps: the kernel was built without CONFIG_PROC_PAGE_MONITOR');
    // The rollup counts as one mapping, however many the process has.
    const maps = rollup ? Infinity : Number(options.most_maps);
    return openPss(proc, rollup ? 'smaps_rollup' : 'smaps', { maps, seconds: Number(options.most_seconds) }, now);
  },
};
