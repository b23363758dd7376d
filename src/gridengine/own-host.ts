import { hostname } from 'node:os';
import { join } from 'node:path';
import { readIfThere } from './find-cell';
import { hostLabel } from './host-names';

/** Grid Engine's name of a host, host_aliases(5): the first of the line that has it, else its own. `directory`: the cell's. */
export function hostInCell(directory: string, host = hostname()): string {
  const lines = readIfThere(join(directory, 'common', 'host_aliases')).split('\n');
  const names = lines.map((line) => line.replace(/#.*/, '').trim().split(/\s+/));
  return names.find((some) => some.some((name) => hostLabel(name) === hostLabel(host)))?.[0] || host;
}
