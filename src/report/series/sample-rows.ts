import type { StreamedSample } from '../../sampler/series/sample-stream';
import { escapeForCsv, escapeJson } from '../format/escape';

/** What is the same in every row. */
export interface RowContext {
  readonly jobId: string;
  readonly pid: number;
  readonly cwd: string;
  readonly command: string;
  readonly host: string;
  readonly user: string;
}

/** Names and order of JoReMon's columns, and behind them what it has not. Bytes, seconds, percent of one CPU. */
export interface SampleRow {
  readonly JobID: string;
  readonly Type: string;
  readonly PID: number;
  readonly CWD: string;
  readonly CMD: string;
  readonly Hostname: string;
  readonly User: string;
  readonly Timestamp: string;
  /** Of the whole tree, those that have ended included, each once. */
  readonly CPUTime: number;
  readonly ClockTime: number;
  /** Since the row before. */
  readonly CPUPercent: number;
  readonly PeakCPUPercent: number;
  readonly RBytesFromDisk: number;
  readonly WBytesFromDisk: number;
  readonly RBytesTotal: number;
  readonly WBytesTotal: number;
  readonly RSS: number;
  readonly PeakRSS: number;
  readonly VMS: number;
  /** Since the start. */
  readonly LifetimeCPUPercent: number;
  readonly Swap: number;
  readonly Processes: number;
  readonly Threads: number;
}

const TYPE = 'qmemacct.Sample';
/** CPU time is counted in steps of 10 ms: over less than this the percentage says little, and is no peak. */
const LEAST_FOR_PEAK_MS = 90;

const hundredths = (value: number): number => Math.round(value * 100) / 100;
const percent = (cpuSeconds: number, ms: number): number => (ms <= 0 ? 0 : hundredths((cpuSeconds * 100_000) / ms));

/** Turns the samples of a job, in their order, into rows. */
export function newSampleRows(context: RowContext): (sample: StreamedSample) => SampleRow {
  let lastMs: number | null = null;
  let lastCpu = 0;
  let peakMs: number | null = null;
  let peakCpu = 0;
  let peakPercent = 0;
  let peakRss = 0;
  return (sample) => {
    const { at, started, cpu_seconds: cpu } = sample;
    const now = percent(cpu - lastCpu, at - (lastMs ?? started));
    if (at - (peakMs ?? started) >= LEAST_FOR_PEAK_MS) {
      peakPercent = Math.max(peakPercent, percent(cpu - peakCpu, at - (peakMs ?? started)));
      peakMs = at;
      peakCpu = cpu;
    }
    lastMs = at;
    lastCpu = cpu;
    peakRss = Math.max(peakRss, sample.rss);
    return {
      JobID: context.jobId,
      Type: TYPE,
      PID: context.pid,
      CWD: context.cwd,
      CMD: context.command,
      Hostname: context.host,
      User: context.user,
      Timestamp: new Date(at).toISOString(),
      CPUTime: hundredths(cpu),
      ClockTime: Math.max(0, at - started) / 1000,
      CPUPercent: now,
      PeakCPUPercent: peakPercent,
      RBytesFromDisk: sample.read_bytes,
      WBytesFromDisk: sample.written_bytes,
      RBytesTotal: sample.read_chars,
      WBytesTotal: sample.written_chars,
      RSS: sample.rss,
      PeakRSS: peakRss,
      VMS: sample.vmem,
      LifetimeCPUPercent: percent(cpu, at - started),
      Swap: sample.swap,
      Processes: sample.processes,
      Threads: sample.threads,
    };
  };
}

export function sampleRowJson(row: SampleRow): string {
  return `${escapeJson(JSON.stringify(row))}\n`;
}

const cell = (value: string | number): string => (typeof value === 'string' ? escapeForCsv(value) : String(value));

/** A line of CSV; the first one of a file needs the head. */
export function sampleRowCsv(row: SampleRow, withHead: boolean): string {
  const line = `${Object.values(row as Readonly<Record<keyof SampleRow, string | number>>)
    .map(cell)
    .join(',')}\n`;
  return withHead ? `${Object.keys(row).join(',')}\n${line}` : line;
}
