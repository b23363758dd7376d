import { failedCode } from '../../gridengine/failed-code';
import { failedAfterwards as isAfterwards } from '../../record/job-end';
import type { BadEnd } from './bad-end';
import { judge, type Hypothesis } from './hypothesis';
import type { Words } from './words';

const FIXES: Readonly<Record<number, string>> = {
  1: "gid_range may be used up; execd's messages file on the node says more",
  3: 'the spool file system of the node may be full or read-only',
  4: 'the spool file system of the node may be full',
  6: "execd's messages file on the node says more",
  7: 'the prolog is missing, not executable, or its user is unknown on the node: qconf -sconf, qconf -sq',
  8: 'the prolog ended with an error: its own messages are in the output of the job',
  9: "the parallel environment's start_proc_args name something that cannot be run: qconf -sp",
  10: "the parallel environment's start procedure failed: its messages are in the .po and .pe files of the job",
  11: 'the shepherd could not start the job: a missing program (qsub -b y), a login that is not allowed, limits too low for a shell',
  26: 'qsub -o and -e must name files that the owner can write on the node, in directories that exist there',
  27: 'the shell of qsub -S or of the queue, its starter_method, or the program of qsub -b y, is missing on the node',
  28: 'the working directory (qsub -cwd, -wd) does not exist on the node, or the owner may not enter it',
  29: 'the AFS token could not be set: qconf -sconf, set_token_cmd',
  30: 'exit status 100 puts a job into the error state (Eqw): qmod -cj once it is fixed',
  31: 'the user database of the node cannot be read',
  32: 'the owner is unknown on the node',
  33: 'the password file of sgepasswd is out of date',
  36: 'a daemon of rsh_daemon, rlogin_daemon or qlogin_daemon is missing on the node',
  38: 'gid_range is used up, or the owner is in too many groups',
};

/** The accounting line's host where it names none. */
const UNKNOWN_HOST = 'UNKNOWN';

/** Grid Engine could not start the job. */
export function neverRan(end: BadEnd, words: Words): Hypothesis {
  const judged = judge('never-ran', 'a failure before the job');
  if (end.failed === null || !end.neverRan) return judged.otherwise('it ran');
  const fix = FIXES[end.failed];
  const where = end.subject.host === UNKNOWN_HOST ? '' : ` on ${words.safe(end.subject.host)}`;
  return judged.consistent(
    3,
    `${failedCode(end.failed).meaning}${where} (failed ${end.failed})${fix === undefined ? '' : `: ${fix}`}`,
  );
}

const RESCHEDULED: ReadonlySet<number> = new Set([24, 25, 30]);

/** The job was to run again, or was put into the error state: exit status 99 or 100, or a migration. */
export function rescheduled(end: BadEnd): Hypothesis {
  const { failed, status } = end;
  const isError = failed === 30 || status === 100;
  const judged = judge('rescheduled', isError ? 'a request for the error state' : 'a request to run it again');
  if (failed !== null && RESCHEDULED.has(failed)) {
    const fix = FIXES[failed];
    return judged.consistent(
      3,
      `Grid Engine says failed ${failed}: ${failedCode(failed).meaning}${fix === undefined ? '' : `; ${fix}`}`,
    );
  }
  if (failed !== null && failed !== 0) return judged.otherwise(`Grid Engine says failed ${failed}`);
  if (status === 99) return judged.consistent(2, 'exit status 99 asks Grid Engine to run it again');
  if (status === 100)
    return judged.consistent(2, 'exit status 100 asks Grid Engine to put it into the error state (Eqw)');
  return judged.otherwise('no exit status asks for it');
}

/** What kept the epilog from starting, by the code that a job has that can't start for the same reason. */
const EPILOG_LACKS: Readonly<Record<number, string>> = {
  26: "its output file could no longer be opened, to which Grid Engine's epilog writes",
  28: "its working directory had been removed, in which Grid Engine's epilog starts",
};

/** The job itself had ended, and something after it failed. */
export function failedAfterwards(end: BadEnd): Hypothesis {
  const judged = judge('failed-afterwards', 'a failure after the job');
  const { failed } = end;
  if (failed === null || !isAfterwards(end.subject)) return judged.otherwise('nothing after the job failed');
  const status = end.status === null ? '' : `; the job itself ended with exit status ${end.status}`;
  return judged.consistent(3, `${EPILOG_LACKS[failed] ?? failedCode(failed).meaning} (failed ${failed})${status}`);
}
