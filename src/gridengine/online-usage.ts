import { closeSync, constants, fstatSync, openSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { CellLocation } from './find-cell';
import type { Usage } from './qstat/job-detail';
import { epochToMs } from './epoch-time';

/**
 * Usage of running jobs as Open Cluster Scheduler from 9.1 writes it at every report of an execution host, where
 * `reporting_params` holds `reporting=true online_usage=...`: lines of JSON in the cell's reporting file, between
 * records of other types.
 */
export interface OnlineUsage {
  /** ms since the epoch. */
  readonly at: number;
  readonly job: number;
  /** 0: no array job. */
  readonly task: number;
  /** null: the master task, or the whole job where the PE has accounting_summary. */
  readonly peTask: string | null;
  readonly usage: Usage;
}

export function onlineUsageFile(cell: CellLocation): string {
  return join(cell.root, cell.cell, 'common', 'reporting.jsonl');
}

type Fields = Readonly<Record<string, unknown>>;

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function wholeNumber(value: unknown): number | null {
  const number = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value;
  return typeof number === 'number' && Number.isSafeInteger(number) && number >= 0 ? number : null;
}

/** Names and numbers; containers within are opened (`usage: { rusage: {}, usage: { cpu: 1 } }`), to a depth of three. */
function numbersIn(fields: Fields, into: Map<string, number>, depth = 3): Map<string, number> {
  for (const [name, value] of Object.entries(fields))
    if (typeof value === 'number' && Number.isFinite(value)) into.set(name, value);
    else if (depth > 1 && isFields(value)) numbersIn(value, into, depth - 1);
  return into;
}

/** A line of the reporting file; null: another type of record, or no record at all. */
export function parseOnlineUsage(line: string): OnlineUsage | null {
  // Most lines are of other types; parsing them would cost ten times as much.
  if (!line.includes('online_usage')) return null;
  let record: unknown;
  try {
    record = JSON.parse(line);
  } catch {
    return null;
  }
  if (!isFields(record) || record.type !== 'online_usage') return null;
  const job = wholeNumber(record.job_number);
  const at = typeof record.time === 'number' ? epochToMs(String(record.time)) : null;
  const container = isFields(record.usage) ? record.usage : record.online_usage;
  if (job === null || job === 0 || at === null || !isFields(container)) return null;
  const usage = numbersIn(container, new Map());
  const { pe_taskid: peTask } = record;
  return {
    at,
    job,
    task: Math.max(wholeNumber(record.task_number) ?? 0, 0),
    peTask: typeof peTask === 'string' && peTask !== '' && peTask !== 'none' && peTask !== 'NONE' ? peTask : null,
    usage,
  };
}

interface FollowerLimits {
  /** How far before the end of the file the first look begins. */
  readonly firstBytes: number;
  /** Of what was written since the last look no more than this is read: the newest. */
  readonly mostBytes: number;
  readonly lineBytes: number;
}

const LIMITS: FollowerLimits = {
  firstBytes: 4 * 1024 * 1024,
  mostBytes: 64 * 1024 * 1024,
  lineBytes: 256 * 1024,
};
const PIECE = 256 * 1024;
const NEWLINE = 0x0a;

/** A file that lines are appended to, at the place where the last look ended. */
interface LineFollower {
  /** Gives the whole lines written since the last look, and how the file is now. */
  look(onLine: (line: string) => void): 'read' | 'absent';
  close(): void;
}

/**
 * Follows a file through rotation (another file of that name: the old one is read to its end first) and truncation (from
 * its beginning). Holds one line at most; lines that are too long are skipped.
 */
export function followLines(path: string, limits: FollowerLimits = LIMITS): LineFollower {
  let descriptor: number | null = null;
  let identity = '';
  let offset = 0;
  let kept: Buffer[] = [];
  let keptBytes = 0;
  let skipping = false;

  const open = (): number | null => {
    try {
      const opened = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
      if (fstatSync(opened).isFile()) return opened;
      closeSync(opened);
    } catch {
      // Not there, or not for us.
    }
    return null;
  };
  const startAt = (position: number, inMiddle: boolean): void => {
    offset = position;
    kept = [];
    keptBytes = 0;
    skipping = inMiddle;
  };
  const take = (piece: Buffer, onLine: (line: string) => void): void => {
    let from = 0;
    for (;;) {
      const end = piece.indexOf(NEWLINE, from);
      if (end === -1) break;
      if (!skipping) onLine(Buffer.concat([...kept, piece.subarray(from, end)]).toString('utf8'));
      skipping = false;
      kept = [];
      keptBytes = 0;
      from = end + 1;
    }
    if (skipping || from === piece.length) return;
    kept.push(Buffer.from(piece.subarray(from)));
    keptBytes += piece.length - from;
    if (keptBytes > limits.lineBytes) startAt(offset, true);
  };
  const readOn = (from: number, onLine: (line: string) => void): void => {
    const { size } = fstatSync(from);
    if (size < offset) startAt(0, false);
    if (size - offset > limits.mostBytes) startAt(size - limits.mostBytes, true);
    const piece = Buffer.allocUnsafe(Math.min(PIECE, Math.max(size - offset, 1)));
    while (offset < size) {
      const got = readSync(from, piece, 0, Math.min(piece.length, size - offset), offset);
      if (got === 0) return;
      offset += got;
      take(piece.subarray(0, got), onLine);
    }
  };
  const idOf = (of: { dev: number; ino: number }): string => `${of.dev}:${of.ino}`;
  const close = (): void => {
    if (descriptor !== null) closeSync(descriptor);
    descriptor = null;
  };
  const current = (): string => {
    try {
      return idOf(statSync(path));
    } catch {
      return '';
    }
  };

  return {
    look: (onLine) => {
      try {
        if (descriptor !== null && current() !== identity) {
          readOn(descriptor, onLine);
          close();
          const next = open();
          if (next === null) return 'absent';
          descriptor = next;
          identity = idOf(fstatSync(next));
          startAt(0, false);
        } else if (descriptor === null) {
          const first = open();
          if (first === null) return 'absent';
          descriptor = first;
          const status = fstatSync(first);
          // A file that came into being while we looked for it is read from its beginning.
          const begin = identity === '' ? Math.max(0, status.size - limits.firstBytes) : 0;
          identity = idOf(status);
          startAt(begin, begin > 0);
        }
        readOn(descriptor, onLine);
        return 'read';
      } catch {
        // A file server's fault (ESTALE, EIO): the next look opens it anew.
        close();
        return 'absent';
      }
    },
    close,
  };
}

/** The newest usage of every task that the file spoke of lately. */
export interface OnlineUsageFollower {
  /** Reads on; false: there is no such file. */
  look(): boolean;
  /** Everything known of a job, one for each task and PE task. */
  of(job: number): readonly OnlineUsage[];
  close(): void;
}

/** PE tasks of one job that are kept: more hosts than any cluster has. */
const MOST_PARTS = 100_000;

/** Forgets what is older than `keepMs`, by the file's own clock. */
export function followOnlineUsage(path: string, keepMs: number, limits?: FollowerLimits): OnlineUsageFollower {
  const lines = followLines(path, limits);
  let jobs = new Map<number, Map<string, OnlineUsage>>();
  let newest = 0;
  const remember = (line: string): void => {
    const usage = parseOnlineUsage(line);
    if (usage === null) return;
    newest = Math.max(newest, usage.at);
    const parts = jobs.get(usage.job) ?? new Map<string, OnlineUsage>();
    const key = `${usage.task}/${usage.peTask ?? ''}`;
    if (parts.size >= MOST_PARTS && !parts.has(key)) return;
    parts.set(key, usage);
    jobs.set(usage.job, parts);
  };
  const forget = (): void => {
    const kept = new Map<number, Map<string, OnlineUsage>>();
    for (const [job, parts] of jobs) {
      const young = [...parts].filter(([, { at }]) => newest - at <= keepMs);
      if (young.length > 0) kept.set(job, new Map(young));
    }
    jobs = kept;
  };
  return {
    look: () => {
      const there = lines.look(remember) === 'read';
      forget();
      return there;
    },
    of: (job) => [...(jobs.get(job)?.values() ?? [])],
    close: () => lines.close(),
  };
}
