import { existsSync, readFileSync } from 'node:fs';

/** One process of a burner, read at rest at the burner's peak. Bytes; null: this kernel does not report it. */
export interface TruthProcess {
  readonly pid: number;
  readonly role: string;
  readonly rss: number;
  /** The kernel's VmHWM: approximate, see truth.h. */
  readonly hwm: number;
  readonly vmsize: number;
  readonly vmpeak: number;
  readonly swap: number;
  readonly anon: number;
  readonly file: number;
  readonly shmem: number;
  /** Its proportional share of anonymous, shared and swapped pages. */
  readonly footprint: number | null;
}

/** What one run of a burner knows about itself: the true maxima over time, in bytes, of its own processes. */
export interface Truth {
  readonly burner: string;
  /** RSS over distinct address spaces; images between fork and exec are left out, forks that never exec are not. */
  readonly rssSum: number;
  readonly vmemSum: number;
  /** The largest single VmPeak. */
  readonly processVmem: number;
  readonly rssSwapSum: number;
  /** Anonymous, shared-memory and swapped pages, each once. */
  readonly footprint: number | null;
  /** RssAnon and RssShmem summed at the peak: a page that two processes share counts twice. */
  readonly anon: number;
  readonly shmem: number;
  /** The most that a sum over every pid can be (about): above rssSum for vfork and for fork before exec. */
  readonly pidRssSum: number;
  /** A sum's true maximum lies in [value, value + uncertainty]. */
  readonly uncertainty: number;
  /** rss comes from a walk over the page tables (exact), not from counters. */
  readonly walked: boolean;
  readonly peakAtUnixMs: number;
  /** Until the line was written; the memory is released after that. */
  readonly cpuSeconds: number;
  readonly children: number;
  /** The burner's own figures: threads, waves, length_ms, io_written, io_read, rchar, wchar, read_bytes, write_bytes. */
  readonly extra: Readonly<Record<string, number>>;
  /** The processes summed in rssSum. */
  readonly processes: readonly TruthProcess[];
}

type Fields = Readonly<Record<string, unknown>>;

function fieldsOf(value: unknown): Fields {
  if (typeof value !== 'object' || value === null) throw new TypeError('not an object');
  return value as Fields;
}

function numberIn(fields: Fields, key: string): number {
  const value = fields[key];
  if (typeof value !== 'number') throw new TypeError(`${key} is not a number`);
  return value;
}

function stringIn(fields: Fields, key: string): string {
  const value = fields[key];
  if (typeof value !== 'string') throw new TypeError(`${key} is not a string`);
  return value;
}

function knownIn(fields: Fields, key: string): number | null {
  const value = numberIn(fields, key);
  return value < 0 ? null : value;
}

function parseProcess(value: unknown): TruthProcess {
  const it = fieldsOf(value);
  return {
    pid: numberIn(it, 'pid'),
    role: stringIn(it, 'role'),
    rss: numberIn(it, 'rss'),
    hwm: numberIn(it, 'hwm'),
    vmsize: numberIn(it, 'vmsize'),
    vmpeak: numberIn(it, 'vmpeak'),
    swap: numberIn(it, 'swap'),
    anon: numberIn(it, 'anon'),
    file: numberIn(it, 'file'),
    shmem: numberIn(it, 'shmem'),
    footprint: knownIn(it, 'footprint'),
  };
}

/** One line of a truth file. @throws TypeError naming the field that is missing or of the wrong type */
export function parseTruth(line: string): Truth {
  const it = fieldsOf(JSON.parse(line));
  const extra = fieldsOf(it.extra);
  const processes = it.processes;
  if (!Array.isArray(processes)) throw new TypeError('processes is not a list');
  return {
    burner: stringIn(it, 'burner'),
    rssSum: numberIn(it, 'rss_sum'),
    vmemSum: numberIn(it, 'vmem_sum'),
    processVmem: numberIn(it, 'process_vmem'),
    rssSwapSum: numberIn(it, 'rss_swap_sum'),
    footprint: knownIn(it, 'footprint'),
    anon: numberIn(it, 'anon'),
    shmem: numberIn(it, 'shmem'),
    pidRssSum: numberIn(it, 'pid_rss_sum'),
    uncertainty: numberIn(it, 'uncertainty'),
    walked: it.walked === true,
    peakAtUnixMs: numberIn(it, 'peak_at_ms'),
    cpuSeconds: numberIn(it, 'cpu_s'),
    children: numberIn(it, 'children'),
    extra: Object.fromEntries(Object.keys(extra).map((key) => [key, numberIn(extra, key)])),
    processes: processes.map(parseProcess),
  };
}

/** The truths appended to a file by the burners that ran with --truth=FILE, in the order written; none without the file. */
export function readTruth(file: string): Truth[] {
  if (!existsSync(file)) return [];
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map(parseTruth);
}
