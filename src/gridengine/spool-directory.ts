/** What the name of a job's spool directory says: `active_jobs/JOB.TASK`. */
interface JobDirectoryName {
  readonly jobId: number;
  /** As in the name: 1 for a job that is no array, where `config` says 0. */
  readonly task: number;
}

/** What the name of a PE task's directory says: `JOB.TASK/SEQ.HOST`. */
interface PeTaskDirectoryName {
  readonly sequence: number;
  readonly host: string;
}

/** `JOB.TASK`, or null if the name is another one (also `JOB.TASK.0`, an earlier run kept by KEEP_ACTIVE). */
export function parseJobDirectoryName(name: string): JobDirectoryName | null {
  const match = /^([1-9]\d{0,9})\.([1-9]\d{0,9})$/.exec(name);
  return match === null ? null : { jobId: Number(match[1]), task: Number(match[2]) };
}

/** `SEQ.HOST`, or null if the name is another one. The host is the short name. */
export function parsePeTaskDirectoryName(name: string): PeTaskDirectoryName | null {
  const match = /^([1-9]\d{0,9})\.([A-Za-z0-9_][A-Za-z0-9_.-]{0,254})$/.exec(name);
  return match === null ? null : { sequence: Number(match[1]), host: match[2] ?? '' };
}
