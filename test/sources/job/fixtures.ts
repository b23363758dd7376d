import { join } from 'node:path';
import { packageRoot } from '../../../src/base/package-root';
import { THIS_MACHINE, type Place, type ProcessSource } from '../../../src/sources/source';

/** Trees in place of /proc. Only 6.18 was read on a machine (x86); the others have the layout of their kernels. */
export const ROLLUPS = ['linux-4.18', 'linux-5.14', 'linux-5.14-arm64-64k', 'linux-6.1', 'linux-6.18'].map(
  (name) => `${name}/4242`,
);

export function pssFixture(path: string): string {
  return join(packageRoot(), 'test', 'fixtures', 'pss', path);
}

export function placeOf(source: ProcessSource, place: Partial<Place> = {}): Place {
  return { ...THIS_MACHINE, ...place, options: { ...source.options, ...place.options } };
}
