import fc from 'fast-check';
import { UpperEnds, type LifeEvent, type SweepReading } from '../../src/sampler/peaks/upper-ends';

/**
 * Histories of a job's processes as the kernel runs them: a fork makes the copy before its event comes, an exec replaces
 * the program before its event comes, the event of an exit comes after the memory has gone; a sweep reads one process
 * after another while all this goes on. Bytes and times are small numbers.
 */

interface Space {
  rss: number;
  vmem: number;
  rssMark: number;
  vmemMark: number;
  /** Was only a copy of the parent's between fork and exec. */
  discarded: boolean;
  /** A copy that a sweep has seen to have memory of its own. */
  ownMemory: boolean;
}

interface Process {
  readonly pid: number;
  readonly root: boolean;
  space: Space | null;
  copy: boolean;
  image: number;
  /** The call of the process that is going on, until its event has come. */
  busy: 'fork' | 'exec' | 'exit' | null;
  /** The copy that the fork in progress has made. */
  making: Space | null;
  /** Suspended by a vfork until that child executes or ends. */
  waitsFor: Process | null;
  /** Largest peak of the programs that it replaced, as ru_maxrss keeps it. */
  replaced: number;
  /** Sweeps that have begun since the fork or exec in progress did. */
  sweepsMeanwhile: number;
  /** Its last whole reading, as long as it has not run since; and how often that was repeated. */
  last: SweepReading | null;
  rested: number;
}

export type LifeStep = readonly [kind: string, which: number, amount: number];

const KINDS = [
  'grow',
  'grow',
  'shrink',
  'map',
  'fork',
  'forkEvent',
  'vfork',
  'exec',
  'execEvent',
  'exit',
  'exitEvent',
  'sweep',
  'read',
  'read',
  'read',
  'sweepEnd',
] as const;

export function lifeSteps(most: number): fc.Arbitrary<readonly LifeStep[]> {
  const step = fc.tuple(
    fc.constantFrom(...KINDS),
    fc.nat(20),
    fc.integer({ min: 1, max: 60 }),
  ) as fc.Arbitrary<LifeStep>;
  return fc.array(step, { minLength: 1, maxLength: most });
}

export interface LifeRules {
  /** Programs may replace programs, and copies that were seen to have memory of their own. */
  readonly replacing: boolean;
  /** The exit records of every so many processes never come; 0: none is missing. */
  readonly missingRecords: number;
  /** Every so many processes are read by one sweep of four only, as if they had left the job's tree; 0: none. */
  readonly missedReadings: number;
  /** Readings of a process that has not run since may be repeated, though others may have given it memory. */
  readonly sleepers: boolean;
}

export interface LifeHistory {
  readonly ends: UpperEnds;
  readonly truth: { readonly rss: number; readonly vmem: number; readonly processVmem: number };
  /** Largest program that was replaced: by the first process, by others. */
  readonly replacedByRoot: number;
  readonly replacedByOthers: number;
  readonly largestVmem: number;
  readonly forks: number;
  readonly recordMissing: boolean;
  /** Number of sweeps. */
  readonly sweeps: number;
}

const ROOT = 100;
const MOST_RESTED = 8;

export function live(script: readonly LifeStep[], rules: LifeRules): LifeHistory {
  const ends = new UpperEnds();
  ends.setRoot(ROOT);
  const processes: Process[] = [];
  const moments: (readonly (readonly [Space, number, number])[])[] = [];
  let events: LifeEvent[] = [];
  let readings: SweepReading[] | null = null;
  let unread: Process[] = [];
  let begin = 0;
  let at = 0;
  let pids = ROOT;
  let images = 0;
  let forks = 0;
  let recordMissing = false;
  let sweeps = 0;
  let lastSweep = false;

  const mark = (space: Space): void => {
    space.vmem = Math.max(space.vmem, space.rss);
    space.rssMark = Math.max(space.rssMark, space.rss);
    space.vmemMark = Math.max(space.vmemMark, space.vmem);
  };

  function note(): void {
    const spaces = new Set<Space>();
    for (const { space, making } of processes) {
      if (space !== null) spaces.add(space);
      if (making !== null) spaces.add(making);
    }
    moments.push([...spaces].map((space) => [space, space.rss, space.vmem] as const));
  }

  function add(space: Space): Process {
    const process: Process = {
      pid: pids++,
      root: processes.length === 0,
      space,
      copy: true,
      image: ++images,
      busy: null,
      making: null,
      waitsFor: null,
      replaced: 0,
      sweepsMeanwhile: 0,
      last: null,
      rested: 0,
    };
    processes.push(process);
    forks++;
    return process;
  }

  const copyOf = (space: Space): Space => ({
    rss: space.rss,
    vmem: space.vmem,
    rssMark: space.rss,
    vmemMark: space.vmem,
    discarded: false,
    ownMemory: false,
  });

  function release(process: Process): void {
    for (const other of processes) if (other.waitsFor === process) other.waitsFor = null;
  }

  function read(process: Process): void {
    if (process.space === null) return;
    const { missedReadings: every } = rules;
    if (every > 0 && !process.root && process.pid % every === 0 && (sweeps + process.pid) % 4 !== 0) return;
    const { last } = process;
    const rests = rules.sleepers && !lastSweep && last !== null && process.rested < MOST_RESTED;
    if (rests && (sweeps * 7 + process.pid * 3) % 3 !== 0) {
      process.rested++;
      readings?.push({ ...last, at, asleep: true });
      return;
    }
    const isShared = processes.some((other) => other !== process && other.space === process.space);
    const ownMemory = rules.replacing && process.copy && !process.root && !isShared && process.pid % 3 === 0;
    process.space.ownMemory ||= ownMemory;
    const reading = {
      pid: process.pid,
      at,
      forkedNoExec: process.copy,
      ownMemory,
      image: process.image,
      rss: process.space.rssMark,
      vmem: process.space.vmemMark,
    };
    readings?.push(reading);
    const idle = !process.copy && process.busy === null && process.waitsFor === null;
    process.last = idle && !processes.some((other) => other.waitsFor === process) ? reading : null;
    process.rested = 0;
  }

  function endSweep(): void {
    for (const process of unread) {
      at++;
      read(process);
    }
    unread = [];
    ends.addEvents(events);
    events = [];
    ends.addSweep({ begin, readings: readings ?? [] });
    readings = null;
    sweeps++;
  }

  function reportFork(process: Process): void {
    if (process.making === null) return;
    const child = add(process.making);
    process.making = null;
    process.busy = null;
    events.push({ kind: 'fork', at, parent: process.pid, child: child.pid, thread: process.pid });
  }

  function reportExec(process: Process): void {
    process.image = ++images;
    process.busy = null;
    events.push({ kind: 'exec', at, pid: process.pid });
  }

  /** Reports the forks and execs in progress for `most` sweeps: none is taken to last for longer than one. */
  function reportOverdue(most: number): void {
    for (const process of [...processes]) {
      if (process.busy !== 'fork' && process.busy !== 'exec') continue;
      if (process.sweepsMeanwhile++ < most) continue;
      at++;
      if (process.busy === 'fork') reportFork(process);
      else reportExec(process);
    }
  }

  function step([kind, which, amount]: LifeStep): void {
    at++;
    const alive = processes.filter((process) => process.space !== null || process.busy === 'exit');
    const process = alive[which % Math.max(1, alive.length)];
    if (process === undefined) return;
    const { space } = process;
    const free = process.busy === null && process.waitsFor === null && space !== null;
    // Memory can come from elsewhere; whatever else happens to it, it has run.
    if (!['grow', 'shrink', 'map', 'sweep', 'read', 'sweepEnd'].includes(kind)) process.last = null;
    switch (kind) {
      case 'grow':
      case 'shrink':
      case 'map':
        if (space === null || process.waitsFor !== null || process.busy === 'exit') return;
        if (kind === 'grow') space.rss += amount;
        else if (kind === 'map') space.vmem += amount;
        else space.rss = Math.max(1, space.rss - amount);
        mark(space);
        return;
      case 'fork':
        if (!free || processes.length > 12) return;
        process.busy = 'fork';
        process.sweepsMeanwhile = 0;
        process.making = copyOf(space);
        return;
      case 'forkEvent':
        if (process.busy === 'fork') reportFork(process);
        return;
      case 'vfork': {
        if (!free || processes.length > 12) return;
        const child = add(space);
        process.waitsFor = child;
        events.push({ kind: 'fork', at, parent: process.pid, child: child.pid, thread: process.pid });
        return;
      }
      case 'exec':
        if (!free || (!process.copy && !rules.replacing)) return;
        if (process.copy && !space.ownMemory) {
          if (!processes.some((other) => other !== process && other.space === space)) space.discarded = true;
        } else process.replaced = Math.max(process.replaced, space.rssMark);
        process.space = { rss: 1, vmem: 2, rssMark: 1, vmemMark: 2, discarded: false, ownMemory: false };
        process.copy = false;
        process.image = ++images;
        process.busy = 'exec';
        process.sweepsMeanwhile = 0;
        release(process);
        return;
      case 'execEvent':
        if (process.busy === 'exec') reportExec(process);
        return;
      case 'exit':
        if (!free) return;
        process.busy = 'exit';
        return;
      case 'exitEvent': {
        if (process.busy !== 'exit' || space === null) return;
        const missing = rules.missingRecords > 0 && process.pid % rules.missingRecords === 0;
        recordMissing ||= missing;
        process.space = null;
        process.busy = null;
        release(process);
        events.push({
          kind: 'exit',
          at,
          pid: process.pid,
          marks: missing ? null : { rss: space.rssMark, vmem: space.vmemMark },
          minorFaults: 0,
        });
        return;
      }
      case 'sweep':
        if (readings !== null) return;
        reportOverdue(1);
        at++;
        begin = at;
        readings = [];
        unread = processes.filter((other) => other.space !== null);
        return;
      case 'read': {
        const next = unread.shift();
        if (next !== undefined) read(next);
        return;
      }
      case 'sweepEnd':
        if (readings !== null) endSweep();
        return;
      default:
    }
  }

  const root = add({ rss: 3, vmem: 5, rssMark: 3, vmemMark: 5, discarded: false, ownMemory: false });
  events.push({ kind: 'fork', at, parent: 1, child: root.pid, thread: 1 });
  note();
  for (const one of script) {
    step(one);
    note();
  }
  if ((readings as SweepReading[] | null) !== null) endSweep();
  reportOverdue(0);
  lastSweep = true;
  at++;
  begin = at;
  readings = [];
  unread = processes.filter((other) => other.space !== null);
  endSweep();

  // A program that replaces a copy may have begun in a space that a vfork parent still uses: that one stays.
  const truth = { rss: 0, vmem: 0, processVmem: 0 };
  for (const moment of moments) {
    const counted = moment.filter(([space]) => !space.discarded && !stillCopy(space));
    truth.rss = Math.max(
      truth.rss,
      counted.reduce((sum, [, rss]) => sum + rss, 0),
    );
    truth.vmem = Math.max(
      truth.vmem,
      counted.reduce((sum, [, , vmem]) => sum + vmem, 0),
    );
    for (const [, , vmem] of counted) truth.processVmem = Math.max(truth.processVmem, vmem);
  }
  /** A copy whose fork was never reported is not the job's yet. */
  function stillCopy(space: Space): boolean {
    return processes.some((process) => process.making === space);
  }
  const most = (values: readonly number[]): number => values.reduce((a, b) => Math.max(a, b), 0);
  return {
    ends,
    truth,
    replacedByRoot: most(processes.filter(({ root: isRoot }) => isRoot).map(({ replaced }) => replaced)),
    replacedByOthers: most(processes.filter(({ root: isRoot }) => !isRoot).map(({ replaced }) => replaced)),
    largestVmem: most(moments.flatMap((moment) => moment.map(([, , vmem]) => vmem))),
    forks,
    recordMissing,
    sweeps,
  };
}
