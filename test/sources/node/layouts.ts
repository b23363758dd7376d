import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../../src/base/package-root';
import {
  isUnavailable,
  type OpenSource,
  type Place,
  type Reading,
  type Source,
  type Unavailable,
} from '../../../src/sources/source';

/**
 * Trees of files in the layouts of CentOS 7 on two sockets, a virtual machine, an Arm64 server with pages of 64 KiB (those
 * three with the files of /proc and /sys that the sources read), and two laptops (power supplies only). linux-6.18 was
 * read on a machine, with some values changed; the others are composed from the kernels' documentation. Never live:
 * Arm64, several NUMA nodes, cpufreq, batteries, utmp.
 */
export const LAYOUTS = [
  'linux-3.10',
  'linux-6.18',
  'linux-6.1-arm64',
  'linux-6.1-laptop',
  'linux-5.10-chromebook',
] as const;
export type Layout = (typeof LAYOUTS)[number];

export const layoutRoot = (layout: Layout): string => join(packageRoot(), 'test', 'fixtures', 'node', layout);

export const layoutText = (layout: Layout, path: string): string =>
  readFileSync(join(layoutRoot(layout), path), 'utf8');

export const placeAt = (root: string, source: Source, more: Partial<Place> = {}): Place => ({
  proc: join(root, 'proc'),
  sys: join(root, 'sys'),
  root,
  now: () => 0,
  options: source.options,
  ...more,
});

/** Opens a source in a layout; fails where it is unavailable. */
export function openIn(layout: Layout, source: Source, more: Partial<Place> = {}): OpenSource {
  const open = source.open(placeAt(layoutRoot(layout), source, more));
  assert.ok(!isUnavailable(open), JSON.stringify(open));
  return open;
}

/** "metric" or "metric{instance}" to value. */
export function table(readings: readonly Reading[] | Unavailable): Readonly<Record<string, number>> {
  assert.ok(!isUnavailable(readings), JSON.stringify(readings));
  const entries = readings.map(({ metric, instance, value }) => [
    instance === '' ? metric : `${metric}{${instance}}`,
    value,
  ]);
  assert.equal(new Set(entries.map(([key]) => key)).size, entries.length, 'a value given twice');
  return Object.fromEntries(entries) as Record<string, number>;
}

export const readIn = (layout: Layout, source: Source, more: Partial<Place> = {}): Readonly<Record<string, number>> =>
  table(openIn(layout, source, more).read());

/** Why a source is not available in a layout. */
export function whyNotIn(layout: Layout, source: Source, more: Partial<Place> = {}): Unavailable {
  const open = source.open(placeAt(layoutRoot(layout), source, more));
  assert.ok(isUnavailable(open));
  return open;
}

/** Asserts these values (undefined: no reading of that name), except for the last digits of a double. */
export function assertReadings(
  found: Readonly<Record<string, number>>,
  expected: Readonly<Record<string, number | undefined>>,
): void {
  for (const [name, value] of Object.entries(expected)) {
    const got = found[name];
    const isSame =
      got === value || (got !== undefined && value !== undefined && Math.abs(got - value) <= 1e-9 * Math.abs(value));
    assert.ok(isSame, `${name}: ${String(got)} instead of ${String(value)}`);
  }
}
