import { hostname } from 'node:os';
import { isIPv4, isIPv6 } from 'node:net';
import { runProgram, type RunProgram } from '../access/name-service';
import { cachedLookup } from '../cached-lookup';

const LOOPBACK_NAMES = new Set(['localhost', 'localhost.localdomain', 'ip6-localhost', 'ip6-loopback']);

/** The name or address in a `Host` header or a setting, in normal form; '' if it is neither. */
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

/** The address in normal form: a socket for both families shows 192.0.2.1 as ::ffff:192.0.2.1. */
const addressOf = (local: string): string => plainHost(local.replace(/^::ffff:(?=\d+\.)/i, '').replace(/%.*$/, ''));

/** This machine's names: its host name, and those that the name service has for it. */
async function ownNames(self: string, run: RunProgram): Promise<readonly string[]> {
  const lines = ((await run('/usr/bin/getent', ['hosts', '--', self])) ?? '').split('\n');
  return [self, ...lines.flatMap((line) => line.trim().split(/\s+/).slice(1))].map(plainHost).filter(Boolean);
}

/**
 * Makes the check whether a `Host` header names this server: by one of this machine's names, loopback, the connection's
 * local address, or one of `more`.
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

/** Groups of an IPv6 address that tell hosts apart: a host is given a whole /64. */
const HOST_GROUPS = 4;

/** Stands for all loopback addresses. */
export const LOOPBACK = 'localhost';

/** One text for a host, whichever of its own addresses it uses. */
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
