import type { StreamedSample } from '../../sampler/series/sample-stream';
import { escapeJson } from '../format/escape';
import { renderCsvRows } from '../records/csv';

/** What is the same in every row. */
export interface RowContext {
  readonly jobId: string;
  readonly pid: number;
  readonly cwd: string;
  readonly command: string;
  readonly host: string;
  readonly user: string;
}

const TYPE = 'qmemacct.Sample';
/** CPU time is counted in steps of 10 ms: over less time the percentage says little, and counts as no peak. */
const LEAST_FOR_PEAK_MS = 90;

const hundredths = (value: number): number => Math.round(value * 100) / 100;
const percent = (cpuSeconds: number, ms: number): number => (ms <= 0 ? 0 : hundredths((cpuSeconds * 100_000) / ms));

/**
 * Turns the samples of a job, in their order, into rows: first JoReMon's columns, with its names and in its order, then
 * our own. Bytes, seconds, percent of one CPU.
 */
export function newSampleRows(context: RowContext) {
  let lastMs: number | null = null;
  let lastCpu = 0;
  let peakMs: number | null = null;
  let peakCpu = 0;
  let peakPercent = 0;
  let peakRss = 0;
  return (sample: StreamedSample) => {
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
      /** Of the whole process tree, ended processes included, each once. */
      CPUTime: hundredths(cpu),
      ClockTime: Math.max(0, at - started) / 1000,
      /** Over the time since the row before. */
      CPUPercent: now,
      PeakCPUPercent: peakPercent,
      RBytesFromDisk: sample.read_bytes,
      WBytesFromDisk: sample.written_bytes,
      RBytesTotal: sample.read_chars,
      WBytesTotal: sample.written_chars,
      RSS: sample.rss,
      PeakRSS: peakRss,
      VMS: sample.vmem,
      /** Over the time since the start. */
      LifetimeCPUPercent: percent(cpu, at - started),
      Swap: sample.swap,
      Processes: sample.processes,
      Threads: sample.threads,
    };
  };
}

export type SampleRow = ReturnType<ReturnType<typeof newSampleRows>>;

export function sampleRowJson(row: SampleRow): string {
  return `${escapeJson(JSON.stringify(row))}\n`;
}

/** A line of CSV; the first one of a file needs the head. */
export function sampleRowCsv(row: SampleRow, withHead: boolean): string {
  return renderCsvRows([...(withHead ? [Object.keys(row)] : []), Object.values(row)]);
}
