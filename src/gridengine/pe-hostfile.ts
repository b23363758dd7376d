/**
 * At most this many hosts of a job are kept: no parallel environment comes near it, and a record stays below 200 KiB.
 */
export const MOST_HOSTS = 4096;

/** Slots that a job was granted on one host, of all its queues there. */
interface GrantedHost {
  readonly host: string;
  readonly slots: number;
}

/** A host's name as Grid Engine writes it: a longer one, or one with other characters, was not written by execd. */
const HOST = /^[A-Za-z0-9][A-Za-z0-9._-]{0,254}$/;
const SLOTS = /^[1-9]\d{0,8}$/;

/**
 * Reads `pe_hostfile` (lines of `host slots queue@host binding`): hosts in the order of the file, the slots of several
 * queues on one host added. Lines that are not of that form are left out, hosts beyond MOST_HOSTS too. null: no host.
 */
export function parsePeHostfile(text: string): readonly GrantedHost[] | null {
  const slotsOf = new Map<string, number>();
  for (const line of text.split('\n')) {
    const [host = '', slots = ''] = line.trim().split(/[ \t]+/, 2);
    if (!HOST.test(host) || !SLOTS.test(slots)) continue;
    if (slotsOf.size >= MOST_HOSTS && !slotsOf.has(host)) continue;
    slotsOf.set(host, (slotsOf.get(host) ?? 0) + Number(slots));
  }
  return slotsOf.size === 0 ? null : [...slotsOf].map(([host, slots]) => ({ host, slots }));
}
