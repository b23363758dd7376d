import type { QueueView } from './cluster-view';

/** What is left of a host that nobody can use. */
export interface Stranded {
  readonly memory: number;
  readonly slots: number;
}

interface HostRoom {
  readonly up: boolean;
  /** Memory that can be requested still; null: its complex is no consumable there. */
  readonly free: number | null;
  readonly freeSlots: number;
  /** Bytes that a further slot is likely to ask for (`usualRequest`); null: unknown. */
  readonly usual: number | null;
}

/**
 * Memory is stranded where no slot is left to ask for it; slots are where memory is left for fewer of them, each with the
 * usual request. What a host that is down has is not stranded, it is gone.
 */
export function stranded({ up, free, freeSlots, usual }: HostRoom): Stranded {
  if (!up || free === null) return { memory: 0, slots: 0 };
  if (freeSlots <= 0) return { memory: Math.max(0, free), slots: 0 };
  const fit = usual === null || usual <= 0 ? (free > 0 ? freeSlots : 0) : Math.floor(Math.max(0, free) / usual);
  return { memory: 0, slots: Math.max(0, freeSlots - fit) };
}

/** Slots that a job could get now: of queues that are neither disabled, suspended, in alarm nor in error. */
export function freeSlotsOf(queues: readonly (QueueView & { readonly reserved: number | null })[]): number {
  return queues
    .filter(({ state }) => state === '')
    .reduce(
      (sum, { slots, slotsUsed, reserved }) => sum + Math.max(0, (slots ?? 0) - (slotsUsed ?? 0) - (reserved ?? 0)),
      0,
    );
}

export interface SlotRequest {
  readonly bytes: number;
  readonly slots: number;
}

/**
 * What a slot asks for: the median over all slots of the cluster, granted and waited for, defaults of the complex among
 * them. One host's own jobs would mislead: a single large one there says nothing about the next.
 */
export function usualRequest(requests: readonly SlotRequest[]): number | null {
  const sorted = requests.filter(({ bytes, slots }) => bytes > 0 && slots > 0).sort((a, b) => a.bytes - b.bytes);
  const half = sorted.reduce((sum, { slots }) => sum + slots, 0) / 2;
  let passed = 0;
  for (const { bytes, slots } of sorted) {
    passed += slots;
    if (passed >= half) return bytes;
  }
  return null;
}
