import { GIB } from '../../base/units';
import { judgedEnd } from '../../record/peak-figure';
import { roundRequest } from '../advice/advice';
import { formatBytes, formatDuration } from '../format/units';
import type { BadEnd } from './bad-end';

/**
 * Few programs request more than this at once: for arrays of numbers, the buffers of a library, the heap of a runtime.
 */
const ORDINARY_REQUEST = GIB;

/** Exit statuses of programs that fail, also because they were refused memory (Python, Perl, Go, make). */
const STATUSES: ReadonlySet<number> = new Set([1, 2, 12]);
/** Signals by which programs end that were refused memory: a trap (V8), an abort (bad_alloc, the JVM). */
const SIGNALS: ReadonlySet<number> = new Set([5, 6]);

/** Shells request little memory, and fail for many reasons. */
const SHELLS: ReadonlySet<string> = new Set(['sh', 'bash', 'dash', 'ksh', 'zsh', 'csh', 'tcsh', 'fish']);

/** A runtime that reserves address space when it starts, far more than it will use. */
interface Runtime {
  readonly command: RegExp;
  /** Address space before its heap; with less it has not started up. Measured: OpenJDK 17, Node 20 on Linux x86-64. */
  readonly startsWith: number;
  /** With a limit above this it starts up, whatever its defaults make of the node's memory. */
  readonly asksFor: number;
  readonly asks: string;
  readonly enough: number;
  readonly tip: string;
}

const RUNTIMES: readonly Runtime[] = [
  {
    command: /^java\b/,
    startsWith: 2.4 * GIB,
    asksFor: 8 * GIB,
    asks: 'java asks for 2.5 GiB, and without -Xmx for a quarter of the memory of the node as its heap, when it starts',
    enough: 4 * GIB,
    tip: 'java takes about 2.5 GiB of address space beside its heap: give it -Xmx1g, or more of both',
  },
  {
    command: /^node(js)?\b/,
    startsWith: 0.65 * GIB,
    asksFor: GIB,
    asks: 'node asks for about 0.8 GiB when it starts',
    enough: 1.5 * GIB,
    tip: 'node takes about 0.8 GiB of address space beside its heap (--max-old-space-size)',
  },
];

/** One large request for memory that RLIMIT_AS may have refused, which leaves no trace. */
interface LargeRequest {
  /** A clause: what speaks for it. */
  readonly grounds: string;
  /** Whether a runtime made the request, and did not start up. */
  readonly atStart: boolean;
  /** What to request to find out whether this was the cause: a part of a -l line. */
  readonly trial: Trial;
}

export interface Trial {
  readonly bytes: number;
  readonly text: string;
  readonly reason: string;
}

/** The name of the executable: "bash" for the script "1234 (bash)". */
const executable = (command: string): string => /\(([^()]+)\)$/.exec(command)?.[1] ?? command;

function trialOf({ subject, slots }: BadEnd, runtime: Runtime | undefined): Trial {
  const asked = subject.h_vmem?.request_bytes ?? 0;
  const shares = (subject.h_vmem?.per ?? 'slot') === 'slot' ? slots : 1;
  const { bytes, text } = roundRequest(Math.max(2 * asked, (runtime?.enough ?? 0) / shares));
  const reason =
    runtime?.tip ??
    'twice the limit, if its messages speak of memory (MemoryError, bad_alloc, Cannot allocate memory); the refused amount is not recorded';
  return { bytes, text: `h_vmem=${text}`, reason: `h_vmem: ${reason}` };
}

/**
 * Whether a program that stopped by itself may have done so because one large request was refused: it ended as programs
 * do then, and so little was left that an ordinary request would not have fitted; or it is a runtime that needs more to
 * start. `limit`: RLIMIT_AS. null: nothing speaks for it.
 */
export function largeRequest(end: BadEnd, limit: number): LargeRequest | null {
  const space = end.subject.peak_process_vmem;
  const command = space?.command ?? null;
  if (space === null || command === null || SHELLS.has(executable(command))) return null;
  if (end.signal === 0 ? !STATUSES.has(end.status ?? 0) : !SIGNALS.has(end.signal)) return null;
  const reached = judgedEnd(space);
  const runtime = RUNTIMES.find((one) => one.command.test(command));
  const soon = end.seconds === null || end.seconds > 60 ? '' : `, ${formatDuration(end.seconds)} after its start`;
  if (runtime !== undefined && reached < runtime.startsWith && limit < runtime.asksFor)
    return { grounds: `${runtime.asks}, and it got no further${soon}`, atStart: true, trial: trialOf(end, runtime) };
  const left = limit - reached;
  if (left >= ORDINARY_REQUEST) return null;
  return {
    grounds: `a single request for the ${formatBytes(left, 'down')} that were left would have been refused, which ends a program this way${soon}`,
    atStart: false,
    trial: trialOf(end, undefined),
  };
}
