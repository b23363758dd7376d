import { hostname } from 'node:os';
import { isIPv4, isIPv6 } from 'node:net';
import { runProgram, type RunProgram } from '../access/name-service';
import { cachedLookup } from '../cached-lookup';

const LOOPBACK_NAMES = new Set(['localhost', 'localhost.localdomain', 'ip6-localhost', 'ip6-loopback']);

/** Name or address of a `Host` header or of a place, in one form; '' for what is neither. */
export function plainHost(host: string): string {
  const bracketed = /^\[([0-9a-f:.]+)(?:%[^\]]*)?\](?::\d*)?$/i.exec(host)?.[1];
  const plain = isIPv6(host) ? host.replace(/%.*$/, '') : host.replace(/:\d*$/, '');
  const name = (bracketed ?? plain).toLowerCase().replace(/\.$/, '');
  if (isIPv6(name)) return new URL(`http://[${name}]/`).hostname.slice(1, -1).replace(/^::ffff:(?=[\d.]+$)/, '');
  return /^[a-z0-9_.-]{1,253}$/.test(name) ? name : '';
}

function isLoopback(name: string): boolean {
  return LOOPBACK_NAMES.has(name) || name === '::1' || (isIPv4(name) && name.startsWith('127.'));
}

/** The same address where a socket for both families has it as ::ffff:192.0.2.1. */
const addressOf = (local: string): string => plainHost(local.replace(/^::ffff:(?=\d+\.)/i, '').replace(/%.*$/, ''));

/** The names of this machine, by the name service: its own, and those that its address has there. */
async function ownNames(self: string, run: RunProgram): Promise<readonly string[]> {
  const lines = ((await run('/usr/bin/getent', ['hosts', '--', self])) ?? '').split('\n');
  return [self, ...lines.flatMap((line) => line.trim().split(/\s+/).slice(1))].map(plainHost).filter(Boolean);
}

/**
 * Whether a `Host` header names a server on a local address: this machine's names, loopback, that address itself, and
 * `more`.
 */
export function hostHeaderCheck(
  more: readonly string[],
  self: string = hostname(),
  run: RunProgram = runProgram,
  now: () => number = Date.now,
): (host: string, localAddress: string) => Promise<boolean> {
  const given = new Set(more.map(plainHost));
  const names = cachedLookup(() => ownNames(self, run), now);
  return async (host, localAddress) => {
    const asked = plainHost(host);
    if (asked === '') return false;
    if (isLoopback(asked) || given.has(asked) || asked === addressOf(localAddress)) return true;
    return (await names(self))?.includes(asked) === true;
  };
}

/** A host is given a whole /64 of IPv6 addresses. */
const HOST_GROUPS = 4;

/** This host, by its loopback addresses. */
export const LOOPBACK = 'localhost';

/** Address of a host, whichever of its own addresses it uses. */
export function hostAddress(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address;
  const plain = mapped.replace(/%.*$/, '');
  if (isLoopback(plain)) return LOOPBACK;
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
