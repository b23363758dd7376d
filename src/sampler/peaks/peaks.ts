import type { Bracket, BracketSource, OpenReason } from '../../record/record';

/**
 * Peaks of a job as brackets [lower, upper].
 *
 * Lower end: a value that the quantity really had at some moment.
 *  - A sum over processes is taken from two sweeps, for each process the smaller reading: readings are not
 *    simultaneous, and memory handed from one process to another between two of them would count twice.
 *  - An image between fork and its first exec is a copy-on-write picture of its parent. It counts only if it never
 *    execs, which is known later: until then its part of the sum is *pending*. A tick is kept as a candidate while
 *    its pending part could still make it the largest.
 *  - A vfork child shares its parent's address space and is not a second one; callers leave it out.
 *  - The high-water mark of one address space is a lower end of every sum that contains it.
 *
 * Upper end: needs every address space that lived between two readings (fork, exec and exit events): upper-ends.ts. With
 * procfs alone it stays open, and the reasons say what was missing.
 */

export const QUANTITIES = ['rss', 'rssSwap', 'vmem', 'processVmem', 'footprint'] as const;
export type Quantity = (typeof QUANTITIES)[number];

/** One address space at one tick; bytes. `id` names the process (pid and start time). */
export interface MemoryReading {
  readonly id: string;
  /** Each the smaller of two readings: RSS and address space of the first and second, the others of the second and third. */
  readonly rss: number;
  readonly rssSwap: number;
  readonly vmem: number;
  /** RssAnon + VmSwap: pages that no other executed image can hold. */
  readonly anonymous: number;
  /** VmHWM and VmPeak of this image. */
  readonly rssMark: number;
  readonly vmemMark: number;
  /** Largest error of the readings, and of the marks. */
  readonly slack: number;
  readonly markSlack: number;
  /** Forked and not yet executed anything: its contribution is pending. */
  readonly pending: boolean;
  readonly command: string;
}

/** Bytes as read, and how much of them may not be there. */
interface Part {
  readonly bytes: number;
  readonly slack: number;
}

interface Candidate {
  readonly certain: number;
  readonly slack: number;
  readonly pending: ReadonlyMap<string, Part>;
  readonly at: number;
  readonly command: string;
  readonly source: BracketSource;
}

export interface PeakState {
  readonly best: Record<Quantity, Candidate | null>;
  readonly open: Record<Quantity, Candidate[]>;
  readonly reasons: Set<OpenReason>;
}

/** Candidates kept per quantity; beyond this the least promising is dropped, which can only lower a lower end. */
const MOST_CANDIDATES = 48;
/** Pending images in all of them together: thousands of forked workers must not fill the memory. */
const MOST_PENDING = 20_000;

const mostCandidates = ({ pending }: Candidate): number =>
  Math.max(1, Math.min(MOST_CANDIDATES, Math.floor(MOST_PENDING / pending.size)));

export function newPeaks(): PeakState {
  const none = <T>(make: () => T): Record<Quantity, T> => ({
    rss: make(),
    rssSwap: make(),
    vmem: make(),
    processVmem: make(),
    footprint: make(),
  });
  return { best: none(() => null), open: none(() => []), reasons: new Set() };
}

const worth = (candidate: Candidate): number => candidate.certain - candidate.slack;
const worthOfPart = (part: Part | undefined): number => (part === undefined ? 0 : part.bytes - part.slack);
/** A reading never lacks more than all of itself. */
const partOf = (bytes: number, slack: number): Part => ({ bytes, slack: Math.min(slack, bytes) });

function potential(candidate: Candidate): number {
  let sum = worth(candidate);
  for (const part of candidate.pending.values()) sum += worthOfPart(part);
  return sum;
}

/** True when `other` can never end above `candidate`. */
function dominates(candidate: Candidate, other: Candidate): boolean {
  if (worth(candidate) < worth(other)) return false;
  for (const [id, part] of other.pending) if (worthOfPart(candidate.pending.get(id)) < worthOfPart(part)) return false;
  return true;
}

function offer(state: PeakState, quantity: Quantity, candidate: Candidate): void {
  const best = state.best[quantity];
  if (best === null || worth(candidate) > worth(best)) state.best[quantity] = { ...candidate, pending: new Map() };
  if (candidate.pending.size === 0) {
    prune(state, quantity);
    return;
  }
  const floor = state.best[quantity];
  if (floor !== null && potential(candidate) <= worth(floor)) return;
  const kept = state.open[quantity].filter((other) => !dominates(candidate, other));
  if (kept.some((other) => dominates(other, candidate))) return;
  kept.push(candidate);
  const most = mostCandidates(candidate);
  if (kept.length > most) {
    kept.sort((a, b) => potential(b) - potential(a));
    kept.length = most;
  }
  state.open[quantity] = kept;
}

function prune(state: PeakState, quantity: Quantity): void {
  const best = state.best[quantity];
  if (best === null || state.open[quantity].length === 0) return;
  state.open[quantity] = state.open[quantity].filter((candidate) => potential(candidate) > worth(best));
}

function sumCandidate(
  readings: readonly MemoryReading[],
  at: number,
  value: (reading: MemoryReading) => number,
  error: (reading: MemoryReading) => number = (reading) => reading.slack,
): Candidate {
  let certain = 0;
  let slack = 0;
  let largest = -1;
  let command = '';
  const pending = new Map<string, Part>();
  for (const reading of readings) {
    const part = partOf(value(reading), error(reading));
    if (reading.pending) {
      if (part.bytes > 0) pending.set(reading.id, part);
    } else {
      certain += part.bytes;
      slack += part.slack;
      if (part.bytes > largest) {
        largest = part.bytes;
        command = reading.command;
      }
    }
  }
  return { certain, slack, pending, at, command, source: 'sample' };
}

function markCandidate(reading: MemoryReading, at: number, value: number, slack: number): Candidate {
  const part = partOf(value, slack);
  return {
    certain: reading.pending ? 0 : part.bytes,
    slack: reading.pending ? 0 : part.slack,
    pending: reading.pending ? new Map([[reading.id, part]]) : new Map<string, Part>(),
    at,
    command: reading.command,
    source: 'mark',
  };
}

/** A mark that beats nothing is not worth an object: this is asked for every process at every tick. */
function promising(state: PeakState, reading: MemoryReading): boolean {
  const { rss, rssSwap, vmem, processVmem } = state.best;
  const rssWorth = reading.rssMark - Math.min(reading.markSlack, reading.rssMark);
  return (
    rss === null ||
    rssSwap === null ||
    vmem === null ||
    processVmem === null ||
    rssWorth > worth(rss) ||
    rssWorth > worth(rssSwap) ||
    reading.vmemMark > worth(vmem) ||
    reading.vmemMark > worth(processVmem)
  );
}

/** Takes the readings of one tick (`at`: ms since the epoch). */
export function observe(state: PeakState, readings: readonly MemoryReading[], at: number): void {
  const rss = sumCandidate(readings, at, (r) => r.rss);
  offer(state, 'rss', rss);
  offer(state, 'rssSwap', rss);
  offer(
    state,
    'rssSwap',
    sumCandidate(readings, at, (r) => r.rssSwap),
  );
  // The kernel counts address space exactly.
  offer(
    state,
    'vmem',
    sumCandidate(
      readings,
      at,
      (r) => r.vmem,
      () => 0,
    ),
  );
  // Copies of a parent's pages are the parent's pages: only executed images can be added up.
  offer(
    state,
    'footprint',
    sumCandidate(
      readings.filter((r) => !r.pending),
      at,
      (r) => r.anonymous,
    ),
  );
  for (const reading of readings) {
    if (!promising(state, reading)) continue;
    offer(state, 'rss', markCandidate(reading, at, reading.rssMark, reading.markSlack));
    offer(state, 'rssSwap', markCandidate(reading, at, reading.rssMark, reading.markSlack));
    offer(state, 'processVmem', markCandidate(reading, at, reading.vmemMark, 0));
    offer(state, 'vmem', markCandidate(reading, at, reading.vmemMark, 0));
  }
}

/** A process ended, and its exit record tells its last program's marks. Its memory was its own: it counted. */
export function observeExit(
  state: PeakState,
  marks: { readonly rss: number; readonly vmem: number; readonly slack: number; readonly command: string },
  at: number,
): void {
  const candidate = (bytes: number, slack: number): Candidate => ({
    certain: bytes,
    slack: Math.min(slack, bytes),
    pending: new Map(),
    at,
    command: marks.command,
    source: 'exit-record',
  });
  offer(state, 'rss', candidate(marks.rss, marks.slack));
  offer(state, 'rssSwap', candidate(marks.rss, marks.slack));
  offer(state, 'vmem', candidate(marks.vmem, 0));
  offer(state, 'processVmem', candidate(marks.vmem, 0));
}

/** A single address space had `bytes` resident, give or take `slack`, at some unknown moment (`ru_maxrss` of `usage`). */
export function observeMaxRss(state: PeakState, bytes: number, slack: number): void {
  const candidate: Candidate = {
    certain: bytes,
    pending: new Map(),
    slack: Math.min(slack, bytes),
    at: 0,
    command: '',
    source: 'usage',
  };
  offer(state, 'rss', candidate);
  offer(state, 'rssSwap', candidate);
}

/**
 * The fate of pending images is known. true: an image never executed anything, so its memory was its own; otherwise it
 * was only a picture of its parent. All at once: each candidate is made anew for every call.
 */
export function resolveAll(state: PeakState, fates: ReadonlyMap<string, boolean>): void {
  if (fates.size === 0) return;
  for (const quantity of QUANTITIES) {
    const candidates = state.open[quantity];
    if (candidates.length === 0) continue;
    state.open[quantity] = [];
    for (const candidate of candidates) offer(state, quantity, settled(candidate, fates));
    prune(state, quantity);
  }
}

function settled(candidate: Candidate, fates: ReadonlyMap<string, boolean>): Candidate {
  const pending = new Map<string, Part>();
  let { certain, slack } = candidate;
  for (const [id, part] of candidate.pending) {
    const counts = fates.get(id);
    if (counts === undefined) pending.set(id, part);
    else if (counts) {
      certain += part.bytes;
      slack += part.slack;
    }
  }
  return pending.size === candidate.pending.size ? candidate : { ...candidate, pending, certain, slack };
}

export function resolve(state: PeakState, id: string, counts: boolean): void {
  resolveAll(state, new Map([[id, counts]]));
}

/** Something happened that lets no upper end be proved. */
export function openEnd(state: PeakState, reason: OpenReason): void {
  state.reasons.add(reason);
}

/** Which pending images still matter to some candidate. */
export function pendingImages(state: PeakState): ReadonlySet<string> {
  const ids = new Set<string>();
  for (const quantity of QUANTITIES)
    for (const candidate of state.open[quantity]) for (const id of candidate.pending.keys()) ids.add(id);
  return ids;
}

/** An upper end with what it rests on, or the reasons why it is open. */
export interface UpperEnd {
  readonly bytes: number | null;
  readonly open: readonly OpenReason[];
  readonly sources: readonly BracketSource[];
}

/** Ends this near each other are one figure. */
const EXACT_BYTES = 1024 * 1024;
const EXACT_SHARE = 0.01;

/** What procfs alone leaves open. */
export function openWithoutEvents(state: PeakState, quantity: Quantity): UpperEnd {
  const open = new Set<OpenReason>(['no-lineage', 'no-exit-records', ...state.reasons]);
  if (quantity === 'footprint') open.add('no-page-accounting');
  return { bytes: null, open: [...open].sort(), sources: [] };
}

/** The bracket as known now; null when nothing was seen. */
export function bracket(
  state: PeakState,
  quantity: Quantity,
  upper = openWithoutEvents(state, quantity),
): Bracket | null {
  const best = state.best[quantity];
  if (best === null) return null;
  const lower = Math.max(0, Math.round(worth(best)));
  // Two proofs that contradict each other prove nothing.
  const end = upper.bytes !== null && upper.bytes >= lower ? Math.ceil(upper.bytes) : null;
  const open = upper.bytes === null || end !== null ? upper.open : (['unknown-origin'] as const);
  return {
    lower_bytes: lower,
    upper_bytes: end,
    slack_bytes: Math.round(best.slack),
    proved: end !== null,
    exact: end !== null && end - lower <= Math.max(EXACT_BYTES, EXACT_SHARE * end),
    open,
    sources: [...new Set([best.source, ...(end === null ? [] : upper.sources)])],
    at: best.at > 0 ? new Date(best.at).toISOString() : null,
    command: best.command === '' ? null : best.command,
  };
}

/** Plain data for a successor process; `restorePeaks` is its inverse. */
export function savePeaks(state: PeakState): unknown {
  const plain = (candidate: Candidate): unknown => ({ ...candidate, pending: [...candidate.pending] });
  return {
    best: Object.fromEntries(
      QUANTITIES.map((quantity) => {
        const best = state.best[quantity];
        return [quantity, best === null ? null : plain(best)];
      }),
    ),
    open: Object.fromEntries(QUANTITIES.map((quantity) => [quantity, state.open[quantity].map(plain)])),
    reasons: [...state.reasons],
  };
}

type SavedCandidate = Omit<Candidate, 'pending'> & { readonly pending: readonly (readonly [string, Part])[] };

/** State from `savePeaks` (the caller's own data, handed from one sampler process to the next). */
export function restorePeaks(saved: unknown): PeakState {
  const data = saved as {
    best: Record<Quantity, SavedCandidate | null>;
    open: Record<Quantity, SavedCandidate[]>;
    reasons: OpenReason[];
  };
  const revive = (candidate: SavedCandidate): Candidate => ({ ...candidate, pending: new Map(candidate.pending) });
  const state = newPeaks();
  for (const quantity of QUANTITIES) {
    const best = data.best[quantity];
    state.best[quantity] = best === null ? null : revive(best);
    state.open[quantity] = data.open[quantity].map(revive);
  }
  for (const reason of data.reasons) state.reasons.add(reason);
  return state;
}
