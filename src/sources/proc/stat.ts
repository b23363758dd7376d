import { readNumber } from './scan';

/** What the sampler needs of `/proc/PID/stat`; see proc_pid_stat(5). */
export interface Stat {
  readonly comm: string;
  readonly state: string;
  readonly ppid: number;
  /** PF_FORKNOEXEC: forked, and has not executed a program since. */
  readonly forkedNoExec: boolean;
  /** PF_EXITING: on its way out; its address space may have gone. */
  readonly exiting: boolean;
  /** Minor faults, own and of waited-for children. */
  readonly minorFaults: number;
  readonly childMinorFaults: number;
  /** CPU time in clock ticks: own, and of waited-for children. */
  readonly cpuTicks: number;
  readonly childCpuTicks: number;
  readonly threads: number;
  /** Clock ticks after boot: with the pid this names a process. */
  readonly startTicks: number;
  /** Changes at every exec (randomised stack and argument addresses); 0 without the right to see them. */
  readonly image: number;
}

/** Whether nothing is left of the process but what its parent may still ask for. */
export const isDead = ({ state }: Stat): boolean => state === 'Z' || state === 'X';

const PF_EXITING = 0x4;
const PF_FORKNOEXEC = 0x40;
const SPACE = 0x20;

/** Number of `stat` field `field` (1-based) is at index `field - 3` of the list that follows the command. */
const PPID = 1;
const FLAGS = 6;
const MINFLT = 7;
const CMINFLT = 8;
const UTIME = 11;
const STIME = 12;
const CUTIME = 13;
const CSTIME = 14;
const NUM_THREADS = 17;
const STARTTIME = 19;
const STARTSTACK = 25;
const ARG_START = 45;

/** Filled anew by every call. */
const numbers = new Float64Array(ARG_START + 1);

/** Parses the first `length` bytes of `text`; null when truncated or not a stat line. */
export function parseStat(text: Buffer, length: number): Stat | null {
  // The command may itself hold parentheses and blanks: it ends at the last ")".
  const open = text.indexOf(0x28);
  const close = text.lastIndexOf(0x29, length - 1);
  if (open < 0 || close < open || close + 2 >= length) return null;
  numbers.fill(0);
  let position = close + 4;
  let field = PPID;
  while (field <= ARG_START && position < length) {
    const negative = text[position] === 0x2d;
    numbers[field] = negative ? -1 : readNumber(text, position, length);
    while (position < length && text[position] !== SPACE) position++;
    position++;
    field++;
  }
  if (field <= STARTTIME) return null;
  const at = (index: number): number => numbers[index] as number;
  return {
    comm: text.toString('utf8', open + 1, close),
    state: String.fromCharCode(text[close + 2] as number),
    ppid: at(PPID),
    forkedNoExec: (at(FLAGS) & PF_FORKNOEXEC) !== 0,
    exiting: (at(FLAGS) & PF_EXITING) !== 0,
    minorFaults: at(MINFLT),
    childMinorFaults: at(CMINFLT),
    cpuTicks: at(UTIME) + at(STIME),
    childCpuTicks: at(CUTIME) + at(CSTIME),
    threads: at(NUM_THREADS),
    startTicks: at(STARTTIME),
    image: at(STARTSTACK) + at(ARG_START) * 0.5,
  };
}
