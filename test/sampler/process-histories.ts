import fc from 'fast-check';
import {
  newPeaks,
  observe,
  resolveAll,
  type MemoryReading,
  type PeakState,
  type Quantity,
} from '../../src/sampler/peaks/peaks';

/**
 * Histories of a job's processes with a sampler that looks at them: what the kernel would say, and what was true.
 * Bytes are small numbers here. While a tick goes on, the processes go on, too: between any two readings something can
 * happen, but no process falls and rises again within one tick (then no readings can tell a lower end).
 */

interface AddressSpace {
  anonymous: number;
  file: number;
  swap: number;
  vmem: number;
  rssMark: number;
  vmemMark: number;
  /** Was only a copy of the parent's between fork and exec. */
  discarded: boolean;
  executed: boolean;
}

interface Process {
  readonly pid: number;
  space: AddressSpace;
  image: number;
  pending: boolean;
  /** Suspended by a vfork until that child executes or ends. */
  waitsFor: Process | null;
  /** May only rise (1) or fall (-1) while a tick goes on. */
  direction: number;
}

/** What the sampler remembers of a process between ticks. */
interface Known {
  readonly process: Process;
  space: AddressSpace;
  image: number;
  pending: boolean;
  shared: boolean;
}

type Sums = Readonly<Record<Quantity, number>>;

export interface History {
  readonly state: PeakState;
  /** Largest sums at any moment. */
  readonly truth: Sums;
  /** After each tick: what the sampler would say, if asked, must not be above `truth`. */
  readonly states: readonly PeakState[];
}

export interface Rules {
  /** Largest error of a reading, and of a mark. */
  readonly slack: number;
  readonly markSlack: number;
  /** Whether processes go on while a tick reads them. */
  readonly restless: boolean;
  /** A tick after every event, twice, so that nothing is missed. */
  readonly everywhere: boolean;
  readonly handOver?: (state: PeakState) => PeakState;
}

export type Step = readonly [kind: string, which: number, amount: number, during: readonly Event[]];
export type Event = readonly [kind: string, which: number, amount: number];

const KINDS = ['fork', 'vfork', 'exec', 'exit', 'grow', 'shrink', 'swapOut', 'swapIn', 'handOver', 'map'] as const;

const event = fc.tuple(fc.constantFrom(...KINDS), fc.nat(20), fc.nat(50)) as fc.Arbitrary<Event>;

export function steps(most: number): fc.Arbitrary<readonly Step[]> {
  const step = fc.tuple(
    fc.constantFrom(...KINDS, 'fork', 'exec', 'grow', 'tick', 'tick', 'tick'),
    fc.nat(20),
    fc.nat(50),
    fc.array(event, { maxLength: 8 }),
  ) as fc.Arbitrary<Step>;
  return fc.array(step, { minLength: 1, maxLength: most });
}

const rssOf = (space: AddressSpace): number => space.anonymous + space.file;

function newSpace(): AddressSpace {
  return { anonymous: 3, file: 2, swap: 0, vmem: 9, rssMark: 5, vmemMark: 9, discarded: false, executed: true };
}

function mark(space: AddressSpace): void {
  space.vmem = Math.max(space.vmem, rssOf(space) + space.swap);
  space.rssMark = Math.max(space.rssMark, rssOf(space));
  space.vmemMark = Math.max(space.vmemMark, space.vmem);
}

export function play(script: readonly Step[], rules: Rules): History {
  let state = newPeaks();
  const states: PeakState[] = [];
  const living: Process[] = [];
  const known = new Map<number, Known>();
  const moments: (readonly (readonly [AddressSpace, AddressSpace])[])[] = [];
  let pids = 0;
  let ticking = false;
  let noise = 1;

  /** Readings that are wrong by at most `most`, either way. */
  function blurred(value: number, most: number): number {
    noise = (noise * 48271) % 2147483647;
    return Math.max(0, value + (noise % (2 * most + 1)) - most);
  }

  function note(): void {
    const spaces = new Set(living.map((process) => process.space));
    moments.push([...spaces].map((space) => [space, { ...space }] as const));
  }

  function start(space: AddressSpace, pending: boolean): Process {
    const process: Process = {
      pid: ++pids,
      space,
      image: 0,
      pending,
      waitsFor: null,
      direction: pids % 2 === 0 ? 1 : -1,
    };
    living.push(process);
    return process;
  }

  function release(process: Process): void {
    for (const other of living) if (other.waitsFor === process) other.waitsFor = null;
  }

  function change(process: Process, kind: string, amount: number): void {
    const { space } = process;
    const falls = kind === 'shrink' || kind === 'swapOut';
    if (ticking && process.direction !== (falls ? -1 : 1)) return;
    switch (kind) {
      case 'grow':
        if (amount % 3 === 0) space.file += amount;
        else space.anonymous += amount;
        break;
      case 'map':
        space.vmem += amount;
        break;
      case 'shrink': {
        const freed = Math.min(amount, space.anonymous);
        space.anonymous -= freed;
        space.vmem -= freed;
        break;
      }
      case 'swapOut': {
        const moved = Math.min(amount, space.anonymous);
        space.anonymous -= moved;
        space.swap += moved;
        break;
      }
      case 'swapIn': {
        const moved = Math.min(amount, space.swap);
        space.swap -= moved;
        space.anonymous += moved;
        break;
      }
      default:
        return;
    }
    mark(space);
    note();
  }

  function happen([kind, which, amount]: Event): void {
    const process = living[which % Math.max(1, living.length)];
    if (process?.waitsFor !== null) return;
    switch (kind) {
      case 'fork':
      case 'vfork': {
        if (living.length > 6) return;
        const space = kind === 'vfork' ? process.space : { ...process.space, executed: false, discarded: false };
        if (kind === 'fork') {
          space.rssMark = rssOf(space);
          space.vmemMark = space.vmem;
        }
        const child = start(space, true);
        if (kind === 'vfork') process.waitsFor = child;
        break;
      }
      case 'exec':
        if (process.pending && !living.some((other) => other !== process && other.space === process.space))
          process.space.discarded = true;
        process.space = newSpace();
        process.image++;
        process.pending = false;
        release(process);
        break;
      case 'exit':
        living.splice(living.indexOf(process), 1);
        release(process);
        break;
      case 'handOver': {
        const heir = living[(which + 1 + amount) % living.length];
        if (heir === undefined || heir === process || heir.waitsFor !== null) return;
        change(process, 'shrink', amount);
        change(heir, 'grow', amount);
        return;
      }
      default:
        change(process, kind, amount);
        return;
    }
    note();
  }

  function tick(during: readonly Event[]): void {
    const queue = [...during];
    const meanwhile = (): void => {
      const next = rules.restless ? queue.shift() : undefined;
      if (next !== undefined) happen(next);
    };
    const resolved: (readonly [string, boolean])[] = [];
    const forget = (entry: Known): void => {
      known.delete(entry.process.pid);
      if (entry.pending && !entry.shared)
        resolved.push([`${entry.process.pid}/${entry.image}`, !entry.space.discarded]);
    };
    for (const process of living)
      if (!known.has(process.pid)) {
        const { image, pending, space } = process;
        const shared = pending && living.some((other) => other !== process && other.space === space);
        known.set(process.pid, { process, space, image, pending, shared });
      }
    ticking = true;
    const isAlive = ({ process }: Known): boolean => living.includes(process);
    const first = new Map<Known, { readonly rss: number; readonly vmem: number }>();
    for (const entry of known.values()) {
      const { space } = entry.process;
      if (isAlive(entry)) first.set(entry, { rss: blurred(rssOf(space), rules.slack), vmem: space.vmem });
      meanwhile();
    }
    const readings: (readonly [Known, MemoryReading])[] = [];
    for (const entry of [...known.values()]) {
      meanwhile();
      if (!isAlive(entry)) {
        forget(entry);
        continue;
      }
      const { process } = entry;
      const { space } = process;
      const executed = process.image !== entry.image;
      if (executed) {
        if (entry.pending && !entry.shared) resolved.push([`${process.pid}/${entry.image}`, false]);
        entry.image = process.image;
        entry.space = space;
        entry.pending = false;
        entry.shared = false;
      }
      if (entry.shared) continue;
      const rss = blurred(rssOf(space), rules.slack);
      const before = executed ? undefined : first.get(entry);
      readings.push([
        entry,
        {
          id: `${process.pid}/${entry.image}`,
          rss: Math.min(rss, before?.rss ?? 0),
          rssSwap: rss + space.swap,
          vmem: Math.min(space.vmem, before?.vmem ?? 0),
          anonymous: blurred(space.anonymous, rules.slack) + space.swap,
          rssMark: blurred(space.rssMark, rules.markSlack),
          vmemMark: space.vmemMark,
          slack: rules.slack,
          markSlack: rules.markSlack,
          pending: entry.pending,
          command: `p${process.pid}`,
        },
      ]);
    }
    const settled = readings.map(([entry, reading]): MemoryReading => {
      meanwhile();
      const { space } = entry.process;
      if (!isAlive(entry)) return { ...reading, rssSwap: 0, anonymous: 0 };
      return {
        ...reading,
        rssSwap: Math.min(reading.rssSwap, blurred(rssOf(space), rules.slack) + space.swap),
        anonymous: Math.min(reading.anonymous, blurred(space.anonymous, rules.slack) + space.swap),
      };
    });
    ticking = false;
    observe(state, settled, moments.length);
    for (const [id, counts] of resolved) resolveAll(state, new Map([[id, counts]]));
    if (rules.handOver) state = rules.handOver(state);
    states.push(state);
  }

  start(newSpace(), false);
  note();
  if (rules.everywhere) tick([]);
  for (const [kind, which, amount, during] of script) {
    if (kind === 'tick') tick(during);
    else happen([kind, which, amount]);
    if (rules.everywhere) {
      tick([]);
      tick([]);
    }
  }
  living.length = 0;
  tick([]);

  const largest = (value: (space: AddressSpace, then: AddressSpace) => number, single = false): number =>
    Math.max(
      0,
      ...moments.map((moment) => {
        const values = moment.map(([space, then]) => (space.discarded ? 0 : value(space, then)));
        return single ? Math.max(0, ...values) : values.reduce((sum, part) => sum + part, 0);
      }),
    );
  const truth: Sums = {
    rss: largest((_, then) => rssOf(then)),
    rssSwap: largest((_, then) => rssOf(then) + then.swap),
    vmem: largest((_, then) => then.vmem),
    processVmem: largest((_, then) => then.vmem, true),
    // Pages of a fork that never executes are its parent's, but for those that it wrote to: at least those of images, or
    // of any one process.
    footprint: Math.max(
      largest((space, then) => (space.executed ? then.anonymous + then.swap : 0)),
      largest((_, then) => then.anonymous + then.swap, true),
    ),
  };
  return { state, truth, states };
}
