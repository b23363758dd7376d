import { readlinkSync, statSync } from 'node:fs';
import { hostname } from 'node:os';
import { MIB } from '../../base/units';
import { textOfUntrusted } from '../../base/read-untrusted';
import {
  newSampleRows,
  sampleRowCsv,
  sampleRowJson,
  type RowContext,
  type SampleRow,
} from '../../report/series/sample-rows';
import { userName } from '../../base/user-name';
import type { StreamedSample } from '../../sampler/series/sample-stream';
import { usageError } from '../command';
import type { Terminal } from '../terminal';
import { openRowSink } from './row-sink';

/** Files ("-": the standard output) that get a row per sample. */
interface RowFiles {
  readonly jsonl?: string | undefined;
  readonly csv?: string | undefined;
}

export interface RowStream {
  /** To be called with the first process and the run's number; inside a Grid Engine job, rows show its number. */
  readonly started: (pid: number, job: number) => void;
  readonly take: (sample: StreamedSample) => void;
  /** Closes the files; resolves to the problems. */
  readonly end: () => Promise<readonly string[]>;
}

/** The usual limit of a command line; a longer one is left out. */
const MOST_COMMAND_BYTES = 2 * MIB;

function orElse<T>(read: () => T, otherwise: T): T {
  try {
    return read();
  } catch {
    return otherwise;
  }
}

function describe(pid: number, job: number, env: Terminal['env']): RowContext {
  const own = process.getuid?.() ?? 0;
  return {
    jobId: env.JOB_ID ?? `run-${job}`,
    pid,
    cwd: orElse(() => readlinkSync(`/proc/${pid}/cwd`), process.cwd()),
    command: (textOfUntrusted(`/proc/${pid}/cmdline`, MOST_COMMAND_BYTES) ?? '')
      .replace(/\0$/, '')
      .replaceAll('\0', ' '),
    host: hostname(),
    user: userName(orElse(() => statSync(`/proc/${pid}`).uid, own)),
  };
}

/** Opens the files; null: no file is given. Throws CommandError. */
export function openRowStream({ jsonl, csv }: RowFiles, env: Terminal['env']): RowStream | null {
  if (jsonl === undefined && csv === undefined) return null;
  if (jsonl === csv) throw usageError(`--jsonl and --csv can't both go to ${csv ?? ''}`);
  const jsonSink = jsonl === undefined ? null : openRowSink('--jsonl', jsonl);
  const csvSink = csv === undefined ? null : openRowSink('--csv', csv);
  let toRow: ((sample: StreamedSample) => SampleRow) | null = null;
  let first = true;
  return {
    started: (pid, job) => {
      toRow = newSampleRows(describe(pid, job, env));
    },
    take: (sample) => {
      if (toRow === null) return;
      const row = toRow(sample);
      jsonSink?.write(sampleRowJson(row));
      csvSink?.write(sampleRowCsv(row, first));
      first = false;
    },
    end: async () => {
      const ends = await Promise.all([jsonSink?.end(), csvSink?.end()]);
      return ends.filter((problem): problem is string => typeof problem === 'string');
    },
  };
}
