import { list, map, nullable, number, object, oneOf, text, type Shape, type ValueOf } from '../../base/shape';
import { BRACKET_SOURCES, OPEN_REASONS, RECORD_LIMITS } from '../../record/fields';
import { isExact } from '../../record/peak-figure';
import type { Bracket, BracketSource, OpenReason } from '../../record/record';

/**
 * Peaks of a job as brackets [lower, upper].
 *
 * Lower bound: a value that the quantity really had at some moment.
 *  - A sum over processes is taken from two sweeps, for each process the smaller reading: readings are not
 *    simultaneous, and memory that passes from one process to another between two of them would count twice.
 *  - An image between fork and its first exec is a copy-on-write copy of its parent. It counts only if it never execs or
 *    had memory of its own (JobProcess), which is known later: until then its part of the sum is *pending*. A tick is
 *    kept as a candidate while its pending part could still make it the largest.
 *  - A vfork child shares its parent's address space and is not a second one; callers leave it out.
 *  - The high-water mark of one address space is a lower bound of every sum that contains it.
 *
 * Upper bound: needs every address space that existed between two readings (fork, exec and exit events): upper-ends.ts.
 * With procfs alone it stays open, and the reasons say what was missing.
 */

export const QUANTITIES = ['rss', 'rssSwap', 'vmem', 'processVmem', 'footprint'] as const;
export type Quantity = (typeof QUANTITIES)[number];

/** One address space at one tick; bytes. `id` names the image (JobProcess.imageId). */
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

/** Bytes as read, and by how much they may be too high. */
const PART = object({ bytes: number(0), slack: number(0) });
type Part = ValueOf<typeof PART>;

/** A sum or a mark that may turn out to be the largest; sizes in bytes, `at` in ms since the epoch. */
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
  readonly open: Record<Quantity, readonly Candidate[]>;
  readonly reasons: Set<OpenReason>;
}

/** Most candidates per quantity; then the one with the smallest possible sum goes, which can only lower the bound. */
const MOST_CANDIDATES = 48;
/** Most pending images in these candidates together: thousands of forked workers must not fill the memory. */
const MOST_PENDING = 20_000;

const mostCandidates = ({ pending }: Candidate): number =>
  Math.max(1, Math.min(MOST_CANDIDATES, Math.floor(MOST_PENDING / pending.size)));

export const eachQuantity = <T>(make: (quantity: Quantity) => T): Record<Quantity, T> => ({
  rss: make('rss'),
  rssSwap: make('rssSwap'),
  vmem: make('vmem'),
  processVmem: make('processVmem'),
  footprint: make('footprint'),
});

export function newPeaks(): PeakState {
  return { best: eachQuantity(() => null), open: eachQuantity(() => []), reasons: new Set() };
}

/** A copy of the state; candidates never change, so both can share them. */
export function copyOfPeaks({ best, open, reasons }: PeakState): PeakState {
  return { best: { ...best }, open: { ...open }, reasons: new Set(reasons) };
}

/** What a candidate proves, whatever becomes of its pending images. */
const least = (candidate: Candidate): number => candidate.certain - candidate.slack;
const leastOfPart = (part: Part | undefined): number => (part === undefined ? 0 : part.bytes - part.slack);
/** The slack is at most the reading itself. */
const partOf = (bytes: number, slack: number): Part => ({ bytes, slack: Math.min(slack, bytes) });

/** What a candidate proves if all of its pending images count. */
function most(candidate: Candidate): number {
  let sum = least(candidate);
  for (const part of candidate.pending.values()) sum += leastOfPart(part);
  return sum;
}

/** The lower bound of a quantity so far, in bytes; 0: none. */
export function lowerEnd({ best }: PeakState, quantity: Quantity): number {
  const candidate = best[quantity];
  return candidate === null ? 0 : least(candidate);
}

/** True when `other` can never end above `candidate`. */
function dominates(candidate: Candidate, other: Candidate): boolean {
  if (least(candidate) < least(other)) return false;
  for (const [id, part] of other.pending) if (leastOfPart(candidate.pending.get(id)) < leastOfPart(part)) return false;
  return true;
}

/** Keeps the candidate if it is the largest, or may be when its pending images are known. */
function consider(state: PeakState, quantity: Quantity, candidate: Candidate): void {
  let best = state.best[quantity];
  if (best === null || least(candidate) > least(best))
    state.best[quantity] = best = { ...candidate, pending: new Map() };
  if (candidate.pending.size === 0) {
    prune(state, quantity);
    return;
  }
  if (most(candidate) <= least(best)) return;
  const kept = state.open[quantity].filter((other) => !dominates(candidate, other));
  if (kept.some((other) => dominates(other, candidate))) return;
  kept.push(candidate);
  const room = mostCandidates(candidate);
  if (kept.length > room) {
    kept.sort((a, b) => most(b) - most(a));
    kept.length = room;
  }
  state.open[quantity] = kept;
}

/** Drops the candidates that can't be the largest any more. */
function prune(state: PeakState, quantity: Quantity): void {
  const best = state.best[quantity];
  if (best === null || state.open[quantity].length === 0) return;
  state.open[quantity] = state.open[quantity].filter((candidate) => most(candidate) > least(best));
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
    const bytes = value(reading);
    const lacking = Math.min(error(reading), bytes);
    if (reading.pending) {
      if (bytes > 0) pending.set(reading.id, { bytes, slack: lacking });
    } else {
      certain += bytes;
      slack += lacking;
      if (bytes > largest) {
        largest = bytes;
        command = reading.command;
      }
    }
  }
  return { certain, slack, pending, at, command, source: 'sample' };
}

/** One address space that had `bytes` resident or mapped at some moment. */
function oneCandidate(part: Part, at: number, command: string, source: BracketSource, image?: string): Candidate {
  return image === undefined
    ? { certain: part.bytes, slack: part.slack, pending: new Map(), at, command, source }
    : { certain: 0, slack: 0, pending: new Map([[image, part]]), at, command, source };
}

/** Whether a mark may raise a lower bound: a quick check for every process at every tick, since few do. */
function mayRaise({ best }: PeakState, reading: MemoryReading): boolean {
  const { rss, rssSwap, vmem, processVmem } = best;
  const leastRss = reading.rssMark - Math.min(reading.markSlack, reading.rssMark);
  return (
    rss === null ||
    rssSwap === null ||
    vmem === null ||
    processVmem === null ||
    leastRss > least(rss) ||
    leastRss > least(rssSwap) ||
    reading.vmemMark > least(vmem) ||
    reading.vmemMark > least(processVmem)
  );
}

/** The marks of one address space are lower bounds of the sums, too. */
function considerMarks(state: PeakState, rss: Candidate, vmem: Candidate): void {
  consider(state, 'rss', rss);
  consider(state, 'rssSwap', rss);
  consider(state, 'processVmem', vmem);
  consider(state, 'vmem', vmem);
}

const NO_ERROR = (): number => 0;

/** Anonymous memory of all executed images, or of one copy, less what KSM has merged, if that may raise the bound. */
function considerFootprint(
  state: PeakState,
  images: Candidate,
  copy: MemoryReading | null,
  mergedBytes: () => number,
): void {
  const best = state.best.footprint;
  if (best !== null && Math.max(images.certain, copy?.anonymous ?? 0) <= least(best)) return;
  const merged = mergedBytes();
  const rest = partOf(Math.max(0, images.certain - merged), images.slack);
  consider(state, 'footprint', { ...images, certain: rest.bytes, slack: rest.slack });
  if (copy === null) return;
  const part = partOf(Math.max(0, copy.anonymous - merged), copy.slack);
  consider(state, 'footprint', oneCandidate(part, images.at, copy.command, 'sample', copy.id));
}

/** Takes the readings of one tick (`at`: ms since the epoch). `mergedBytes`: how much of it KSM may show repeatedly. */
export function observe(
  state: PeakState,
  readings: readonly MemoryReading[],
  at: number,
  mergedBytes: () => number = NO_ERROR,
): void {
  const rss = sumCandidate(readings, at, (reading) => reading.rss);
  const rssSwap = sumCandidate(readings, at, (reading) => reading.rssSwap);
  // The kernel counts address space exactly.
  const vmem = sumCandidate(readings, at, (reading) => reading.vmem, NO_ERROR);
  // The pages of a forked copy may be its parent's: only executed images can be added up. No page of one image is twice.
  const images = sumCandidate(readings, at, (reading) => (reading.pending ? 0 : reading.anonymous));
  const copy = readings.reduce<MemoryReading | null>(
    (most, reading) => (reading.pending && reading.anonymous > (most?.anonymous ?? 0) ? reading : most),
    null,
  );
  consider(state, 'rss', rss);
  consider(state, 'rssSwap', rss);
  consider(state, 'rssSwap', rssSwap);
  consider(state, 'vmem', vmem);
  considerFootprint(state, images, copy, mergedBytes);
  for (const reading of readings) {
    if (!mayRaise(state, reading)) continue;
    const image = reading.pending ? reading.id : undefined;
    const { command } = reading;
    considerMarks(
      state,
      oneCandidate(partOf(reading.rssMark, reading.markSlack), at, command, 'mark', image),
      oneCandidate(partOf(reading.vmemMark, 0), at, command, 'mark', image),
    );
  }
}

/** Takes the marks in the exit record of a process: those of its last program, or of a copy that never executed one. */
export function observeExit(
  state: PeakState,
  marks: { readonly rss: number; readonly vmem: number; readonly slack: number; readonly command: string },
  at: number,
): void {
  considerMarks(
    state,
    oneCandidate(partOf(marks.rss, marks.slack), at, marks.command, 'exit-record'),
    oneCandidate(partOf(marks.vmem, 0), at, marks.command, 'exit-record'),
  );
}

/** A single address space had `bytes` resident, give or take `slack`, at some unknown moment (`ru_maxrss` of `usage`). */
export function observeMaxRss(state: PeakState, bytes: number, slack: number): void {
  const candidate = oneCandidate(partOf(bytes, slack), 0, '', 'usage');
  consider(state, 'rss', candidate);
  consider(state, 'rssSwap', candidate);
}

/**
 * Applies the fates of pending images. true: the image never executed anything or had memory of its own; false: it was
 * only a copy of its parent. Pass all fates at once: every call makes each candidate anew.
 */
export function resolveAll(state: PeakState, fates: ReadonlyMap<string, boolean>): void {
  if (fates.size === 0) return;
  for (const quantity of QUANTITIES) {
    const candidates = state.open[quantity];
    if (candidates.length === 0) continue;
    state.open[quantity] = [];
    for (const candidate of candidates) consider(state, quantity, settled(candidate, fates));
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

/** Notes a reason why upper bounds may stay open. */
export function openEnd(state: PeakState, reason: OpenReason): void {
  state.reasons.add(reason);
}

/** An upper bound with what it rests on, or the reasons why it is open. */
export interface UpperEnd {
  readonly bytes: number | null;
  readonly open: readonly OpenReason[];
  readonly sources: readonly BracketSource[];
}

/** The open upper bound that is left with procfs alone. */
export function openWithoutEvents(state: PeakState, quantity: Quantity): UpperEnd {
  const open = new Set<OpenReason>(['no-lineage', 'no-exit-records', ...state.reasons]);
  if (quantity === 'footprint') open.add('no-page-accounting');
  return { bytes: null, open: [...open].sort(), sources: [] };
}

/** The bracket as known now; null when nothing is. */
export function bracket(
  state: PeakState,
  quantity: Quantity,
  upper = openWithoutEvents(state, quantity),
): Bracket | null {
  const best = state.best[quantity];
  if (best === null) return null;
  const lower = Math.min(RECORD_LIMITS.bytes, Math.max(0, Math.round(least(best))));
  // Two proofs that contradict each other prove nothing.
  const isEnd = upper.bytes !== null && upper.bytes >= lower && upper.bytes <= RECORD_LIMITS.bytes;
  const end = isEnd ? Math.ceil(upper.bytes) : null;
  // All processes that were read had just gone, or were copies that then executed a program.
  if (lower === 0 && end === null) return null;
  const open = upper.bytes === null || end !== null ? upper.open : (['unknown-origin'] as const);
  return {
    lower_bytes: lower,
    upper_bytes: end,
    slack_bytes: Math.round(best.slack),
    proved: end !== null,
    exact: isExact(end !== null, lower, end),
    open,
    sources: [...new Set([best.source, ...(end === null ? [] : upper.sources)])],
    at: best.at > 0 ? new Date(best.at).toISOString() : null,
    command: best.command === '' ? null : best.command,
  };
}

const CANDIDATE = object({
  certain: number(0),
  slack: number(0),
  pending: map(PART, { key: /^[\d.]+\/\d+$/, what: 'image', most: 2 ** 22 }),
  at: number(),
  command: text(4096),
  source: oneOf(BRACKET_SOURCES),
});

const eachShape = <T>(shape: Shape<T>): Shape<Readonly<Record<Quantity, T>>> => object(eachQuantity(() => shape));

/** What a successor process gets. */
export const SAVED_PEAKS = object({
  best: eachShape(nullable(CANDIDATE)),
  open: eachShape(list(CANDIDATE, MOST_CANDIDATES)),
  reasons: list(oneOf(OPEN_REASONS), OPEN_REASONS.length),
});
type SavedPeaks = ValueOf<typeof SAVED_PEAKS>;
type SavedCandidate = ValueOf<typeof CANDIDATE>;

export function savePeaks({ best, open, reasons }: PeakState): SavedPeaks {
  const plain = (candidate: Candidate): SavedCandidate => ({
    ...candidate,
    pending: Object.fromEntries(candidate.pending),
  });
  return {
    best: eachQuantity((quantity) => best[quantity] && plain(best[quantity])),
    open: eachQuantity((quantity) => open[quantity].map(plain)),
    reasons: [...reasons],
  };
}

/** The inverse of `savePeaks`. */
export function restorePeaks({ best, open, reasons }: SavedPeaks): PeakState {
  const revive = (candidate: SavedCandidate): Candidate => ({
    ...candidate,
    pending: new Map(Object.entries(candidate.pending)),
  });
  return {
    best: eachQuantity((quantity) => best[quantity] && revive(best[quantity])),
    open: eachQuantity((quantity) => open[quantity].map(revive)),
    reasons: new Set(reasons),
  };
}
