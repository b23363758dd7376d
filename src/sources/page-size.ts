import { readBytes } from './files';

const AT_PAGESZ = 6n;
const SMALLEST = 4096;

/** Bytes in a page (64 KiB on many Arm64 and POWER machines), from the auxiliary vector of this process. */
export function pageSize(proc = '/proc'): number {
  const auxiliary = readBytes(`${proc}/self/auxv`) ?? Buffer.alloc(0);
  for (let offset = 0; offset + 16 <= auxiliary.length; offset += 16)
    if (auxiliary.readBigUInt64LE(offset) === AT_PAGESZ) return Number(auxiliary.readBigUInt64LE(offset + 8));
  return SMALLEST;
}
