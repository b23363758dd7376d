import { loadKoffi } from './koffi';
import { check, library } from './libc';

const koffi = loadKoffi();

/** `struct statvfs` of 64-bit glibc. */
const layout = koffi.struct({
  bsize: 'uint64',
  frsize: 'uint64',
  blocks: 'uint64',
  bfree: 'uint64',
  bavail: 'uint64',
  files: 'uint64',
  ffree: 'uint64',
  favail: 'uint64',
  fsid: 'uint64',
  flag: 'uint64',
  namemax: 'uint64',
  spare: koffi.array('int32', 6),
});

export interface FileSystemSize {
  /** Bytes in one block, the unit of the next three. */
  readonly unit: number;
  readonly blocks: number;
  readonly free: number;
  /** Free for users other than root. */
  readonly available: number;
  /** 0: the file system has no fixed number of inodes. */
  readonly inodes: number;
  readonly freeInodes: number;
}

const cStatvfs = library.func('statvfs', 'int', ['str', koffi.out(koffi.pointer(layout))]) as (
  path: string,
  into: unknown,
) => number;

/**
 * Size of the file system that holds `path`. fs.statfs of Node 20 to 24 leaves out f_frsize, the unit of the counts,
 * which differs from f_bsize on FUSE and parallel file systems. Throws LibcError; blocks while a file server does not
 * answer.
 */
export function statvfs(path: string): FileSystemSize {
  const result: Record<string, unknown> = {};
  check('statvfs', cStatvfs(path, result));
  const number = (field: string): number => Number(result[field]);
  return {
    unit: number('frsize'),
    blocks: number('blocks'),
    free: number('bfree'),
    available: number('bavail'),
    inodes: number('files'),
    freeInodes: number('ffree'),
  };
}
