import { join } from 'node:path';
import type * as Statvfs from '../../native/statvfs';
import { listOption, metricsOf, opened, reading, source, unavailable, type Reading } from '../source';

const { gauge } = metricsOf('diskusage');

const PATH = { instance: 'path' };
const PERCENT = { instance: 'path', resolution: 100 };

const TOTAL = gauge('total', 'bytes', 'Size of the file system that holds the path.', PATH);
const USED = gauge('used', 'bytes', 'Used space.', PATH);
const FREE = gauge('free', 'bytes', 'Unused space, what is reserved for root included.', PATH);
const AVAILABLE = gauge('available', 'bytes', 'Unused space that users can have.', PATH);
const USED_PERCENT = gauge('used', 'percent', 'Used space, of used and available space, as df shows it.', PERCENT);
const INODES = gauge('inodes', 'count', 'Inodes of the file system; none where it makes them as needed.', PATH);
const INODES_FREE = gauge('inodes_free', 'count', 'Unused inodes.', PATH);
const INODES_PERCENT = gauge('inodes_used', 'percent', 'Used inodes, of all inodes.', PERCENT);

/** Readings of one file system. */
export function diskusageReadings(path: string, size: Statvfs.FileSystemSize): readonly Reading[] {
  const used = Math.max(0, size.blocks - size.free);
  const room = used + size.available;
  const one = (metric: typeof TOTAL, blocks: number): Reading => reading(metric, blocks * size.unit, path);
  return [
    one(TOTAL, size.blocks),
    one(USED, used),
    one(FREE, size.free),
    one(AVAILABLE, size.available),
    ...(room > 0 ? [reading(USED_PERCENT, (100 * used) / room, path)] : []),
    ...(size.inodes > 0
      ? [
          reading(INODES, size.inodes, path),
          reading(INODES_FREE, size.freeInodes, path),
          reading(INODES_PERCENT, (100 * Math.max(0, size.inodes - size.freeInodes)) / size.inodes, path),
        ]
      : []),
  ];
}

export const diskusage = source({
  name: 'diskusage',
  reads: ['statvfs(2) of the paths in [sources.diskusage]'],
  metrics: [TOTAL, USED, FREE, AVAILABLE, USED_PERCENT, INODES, INODES_FREE, INODES_PERCENT],
  // A hard NFS mount whose server is away holds the caller until it is back.
  blocking: true,
  interval: 60,
  options: { paths: ['/'] },
  open: ({ root, options }) => {
    const paths = listOption(options.paths);
    if (paths.length === 0) return unavailable('no paths', 'set paths = ["/", ...] in [sources.diskusage]');
    // Required here, since it loads the FFI: only where this source is read.
    const { statvfs } = require('../../native/statvfs') as typeof Statvfs;
    const readOne = (path: string): readonly Reading[] => {
      try {
        return diskusageReadings(path, statvfs(join(root, path)));
      } catch {
        return [];
      }
    };
    return opened(
      () => paths.flatMap(readOne),
      () => unavailable(`none of ${paths.join(', ')} exists`, 'fix paths of [sources.diskusage]'),
    );
  },
});
