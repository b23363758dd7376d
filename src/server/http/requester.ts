import { isIPv4, isIPv6 } from 'node:net';

/** On whose behalf something is asked. */
export interface Asker {
  /** Equal for what one user, token or host asks: askers take turns. */
  readonly key: string;
  /** Aborted when nobody waits for the answer any more; null: somebody always does. */
  readonly gone: AbortSignal | null;
}

/** The server itself. */
export const SERVER_ITSELF: Asker = { key: 'server', gone: null };

/** A host is given a whole /64 of IPv6 addresses. */
const HOST_GROUPS = 4;

/** Address of a host, whichever of its own addresses it uses. */
export function hostPart(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address;
  const plain = mapped.replace(/%.*$/, '');
  if (isIPv4(plain) || !isIPv6(plain)) return plain;
  const [before = '', after] = plain.split('::');
  const groups = (text: string): string[] => text.split(':').filter((group) => group !== '');
  const head = groups(before);
  const tail = groups(after ?? '');
  const zeros = Array.from({ length: Math.max(0, 8 - head.length - tail.length) }, () => '0');
  return [...head, ...(after === undefined ? [] : zeros), ...tail]
    .slice(0, HOST_GROUPS)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':');
}
