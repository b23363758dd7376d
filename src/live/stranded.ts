import type { QueueView } from './cluster-view';

/** Free memory and slots of a host that no job can use. */
export interface Stranded {
  readonly memory: number;
  readonly slots: number;
}

interface HostRoom {
  readonly up: boolean;
  /** Memory that can still be requested; null: its complex is no consumable there. */
  readonly free: number | null;
  readonly freeSlots: number;
  /** Bytes that a further slot is likely to request (`usualRequest`); null: unknown. */
  readonly usual: number | null;
}

/**
 * Memory is stranded if no slot is left to request it; slots are stranded if the free memory does not suffice for all
 * of them, each with the usual request. Nothing on a host that is down counts as stranded.
 */
export function stranded({ up, free, freeSlots, usual }: HostRoom): Stranded {
  if (!up || free === null) return { memory: 0, slots: 0 };
  if (freeSlots <= 0) return { memory: Math.max(0, free), slots: 0 };
  const fit = usual === null || usual <= 0 ? (free > 0 ? freeSlots : 0) : Math.floor(Math.max(0, free) / usual);
  return { memory: 0, slots: Math.max(0, freeSlots - fit) };
}

/** Slots that a job could get now: those of queues that are not disabled, suspended, in alarm or in error. */
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
 * The usual request of a slot: the median over all slots of the cluster's running and waiting jobs, including defaults
 * of the complex; null: unknown. A single host's jobs would mislead, as one large job says nothing about the next.
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
