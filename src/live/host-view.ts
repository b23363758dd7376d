import { parseMemorySize } from '../gridengine/memory-size';
import type { QhostHost } from '../gridengine/qhost/qhost-report';
import type { HostView, JobPart } from './cluster-view';
import { peakOfPart, useOfPart } from './job-parts';
import { freeSlotsOf, stranded } from './stranded';
import { sumOfKnown } from '../base/known';
import { orderText } from '../record/request';

interface HostContext {
  /** The memory complex that jobs take from hosts. */
  readonly complex: string;
  /** Bytes that a slot usually requests; null: unknown. */
  readonly usual: number | null;
  /** For a host that qhost does not list. */
  readonly up?: boolean;
}

/** The view of one host with the parts of jobs on it. */
export function hostView(host: QhostHost, parts: readonly JobPart[], context: HostContext): HostView {
  const { complex, usual, up = reports(host) } = context;
  const left = leftOf(host, complex);
  const free = left?.bytes ?? null;
  const reserved = parts.map((part) => part.reserved);
  // qhost's free figure matches qhost's own list of jobs: it does not count a job that only qstat lists yet.
  const shown = new Set(host.jobs.map(({ job, task }) => `${job}.${task ?? ''}`));
  const inFree = parts.filter(({ job, task }) => shown.has(`${job}.${task ?? ''}`)).map((part) => part.reserved);
  const queues = host.queues.map((queue) => ({ ...queue, reserved: queue.slotsReserved }));
  const slotsUsed = sumOfKnown(queues.map((queue) => queue.slotsUsed));
  const slotsOfQueues = sumOfKnown(queues.map(({ slots }) => slots));
  const slotsLeft = leftOf(host, 'slots')?.bytes ?? null;
  const freeSlots = freeSlotsOf(queues);
  const inUse = slotsUsed ?? parts.reduce((sum, { slots }) => sum + slots, 0);
  // Running jobs can't use 0 bytes.
  const held = (of: (part: JobPart) => number | null): number | null =>
    sumOfKnown(parts.map(of)) ?? (inUse === 0 ? 0 : null);
  const wasted = stranded({ up, free, freeSlots: Math.min(freeSlots, slotsLeft ?? freeSlots), usual });
  return {
    name: host.name,
    up,
    processors: host.processors,
    load: host.load,
    memoryTotal: host.memoryTotal,
    memoryUsed: host.memoryUsed,
    swapTotal: host.swapTotal,
    swapUsed: host.swapUsed,
    // Several queues may offer the same cores; `complex_values slots=` then limits them.
    slots:
      slotsOfQueues === null || slotsLeft === null
        ? slotsOfQueues
        : Math.min(slotsOfQueues, (slotsUsed ?? 0) + slotsLeft),
    slotsUsed: inUse,
    complex,
    capacity: left === null || left.isReported ? null : left.bytes + sumOf(inFree),
    free,
    requested: sumOf(reserved),
    peak: held(peakOfPart),
    used: held(useOfPart),
    unlimited: parts.filter(({ limitState }) => limitState === 'unlimited').length,
    strandedMemory: wasted.memory,
    strandedSlots: wasted.slots,
    queues: host.queues.map(({ name, slots, slotsUsed: taken, state }) => ({ name, slots, slotsUsed: taken, state })),
    parts,
  };
}

/** The view of a host that only qstat names: only its jobs are known, and it counts as up. */
export function unlistedHost(name: string, parts: readonly JobPart[], complex: string): HostView {
  const unknown: QhostHost = {
    name,
    architecture: null,
    processors: null,
    sockets: null,
    cores: null,
    threads: null,
    load: null,
    memoryTotal: null,
    memoryUsed: null,
    swapTotal: null,
    swapUsed: null,
    processorsText: '-',
    memoryTotalText: '-',
    resources: [],
    queues: [],
    jobs: [],
  };
  return hostView(unknown, parts, { complex, usual: null, up: true });
}

/** Whether execd reports; for a host without execd, qhost still prints architecture, processors and total memory. */
function reports({ architecture, load, memoryUsed }: QhostHost): boolean {
  return architecture !== null && (load !== null || memoryUsed !== null);
}

/**
 * The first complex of `order` that is a consumable on any host; null: none is. Where every host reports less of it than
 * requests leave, qhost does not show that it is one: then the site's own order says so.
 */
export function hostConsumable(hosts: readonly QhostHost[], order: readonly string[]): string | null {
  const shown = (isReported: boolean): string | undefined =>
    order.find((complex) => hosts.some((host) => leftOf(host, complex)?.isReported === isReported));
  return shown(false) ?? (orderText(order) === null ? null : (shown(true) ?? null));
}

/**
 * What is left of a complex on the host; null: not shown there. `isReported`: this is the host's own report, which
 * qhost shows if it is less than what the jobs' requests leave, or if the complex is no consumable.
 */
function leftOf(
  { resources }: QhostHost,
  name: string,
): { readonly bytes: number; readonly isReported: boolean } | null {
  for (const isReported of [false, true]) {
    const dominances = isReported ? ['hl', 'hL'] : ['hc'];
    const found = resources.find((one) => one.name === name && dominances.includes(one.dominance));
    const parsed = found === undefined ? null : parseMemorySize(found.value.trim());
    if (parsed?.ok && Number.isFinite(parsed.value)) return { bytes: Math.round(parsed.value), isReported };
  }
  return null;
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}
