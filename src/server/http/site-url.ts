import { hostname } from 'node:os';
import type { ListenAddress } from './listen';

const EVERY_ADDRESS: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

/** Where a browser finds the pages: as the site says (`serve_url`), else by the port; null: it serves no HTTP. */
export function siteUrl(given: string, addresses: readonly ListenAddress[]): string | null {
  if (given !== '') return given.replace(/\/+$/, '');
  const tcp = addresses.find((address) => address.kind === 'tcp');
  if (tcp === undefined) return null;
  const host = EVERY_ADDRESS.has(tcp.address) ? hostname() : tcp.address;
  return `http://${host.includes(':') ? `[${host}]` : host}:${tcp.port}`;
}

/** The host that `serve_url` names; none where it is empty. */
export function hostOf(url: string): readonly string[] {
  return url === '' ? [] : [new URL(url).host];
}
