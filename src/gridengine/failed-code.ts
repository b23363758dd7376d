interface FailedCode {
  readonly meaning: string;
  /** Whether the job ran, so that its usage figures mean something; null where Grid Engine itself does not know. */
  readonly ran: boolean | null;
}

/** `failed`: the job died by a signal. */
export const AFTER_SIGNAL = 100;

/** The values of `failed` in accounting(5), after sge_status(5). */
const table: readonly (readonly [number, string, boolean | null])[] = [
  [0, 'ran and ended by itself', true],
  [1, 'failed early in execd, before the job', false],
  [3, 'failed before execd had written the job to its spool directory', false],
  [4, 'the shepherd could not record its process id (spool file system full?)', false],
  [6, 'failed while setting up the processor set', false],
  [7, 'failed before the prolog: the prolog could not be started', false],
  [8, 'the prolog failed', false],
  [9, "failed before the parallel environment's start procedure", false],
  [10, "the parallel environment's start procedure failed", false],
  [11, 'failed in the shepherd just before the job', false],
  [12, "ran, but the parallel environment's stop procedure could not be started", true],
  [13, "ran, but the parallel environment's stop procedure failed", true],
  [14, 'ran, but the epilog could not be started', true],
  [15, 'ran, but the epilog failed', true],
  [16, 'ran, but the processor set could not be released', true],
  [17, 'killed by a signal (qdel?)', true],
  [18, 'the shepherd died or returned an error', null],
  [19, 'the shepherd left no exit status: host or shepherd crashed', null],
  [20, 'the shepherd met a problem and left an error file', null],
  [21, 'execd did not know the job when qmaster asked', null],
  [24, 'ran, and is to be migrated (checkpointing)', true],
  [25, 'to be scheduled again', true],
  [26, 'an output file could not be opened', false],
  [27, 'its shell or program was not found', false],
  [28, 'could not change to the working directory', false],
  [29, 'AFS could not be set up', false],
  [30, 'the job, or a hook, returned the application error 100', true],
  [31, 'the password file could not be read', false],
  [32, 'the user is missing in the password file', false],
  [33, 'wrong password', false],
  [34, "Grid Engine's helper service did not answer", false],
  [35, "failed before the job in Grid Engine's helper service", false],
  [36, 'a configured daemon for remote start-up is wrong', false],
  [37, 'killed by Grid Engine for a limit: h_rt, h_cpu or h_vmem', true],
  [38, 'the additional group could not be set', false],
  [AFTER_SIGNAL, 'killed by a signal after it had started (limit, qdel, host or shepherd died)', true],
];

const byCode: ReadonlyMap<number, FailedCode> = new Map(table.map(([code, meaning, ran]) => [code, { meaning, ran }]));

/** Whether the job itself was over when this failed: the PE's stop procedure, the epilog, the processor set. */
export const isAfterJob = (code: number): boolean => code >= 12 && code <= 16;

/** What a `failed` value means; a code that Grid Engine does not document gets a sentence that says so. */
export function failedCode(code: number): FailedCode {
  return byCode.get(code) ?? { meaning: `unknown failure code ${code}`, ran: null };
}
