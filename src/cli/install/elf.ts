import { closeSync, openSync, readSync } from 'node:fs';
import { MIB } from '../../base/units';

const PT_DYNAMIC = 2;
const PT_INTERP = 3;
const DT_NEEDED = 1n;
const MOST_HEADERS = 512;
const MOST_DYNAMIC_BYTES = MIB;

/** Offsets and sizes of the fields that we need, by ELF class (elf(5)). */
const LAYOUTS = {
  1: { header: 52, phoff: 28, phentsize: 42, phnum: 44, offset: 4, filesz: 16, word: 4 },
  2: { header: 64, phoff: 32, phentsize: 54, phnum: 56, offset: 8, filesz: 32, word: 8 },
} as const;
type Layout = (typeof LAYOUTS)[keyof typeof LAYOUTS];

interface Elf {
  readonly layout: Layout;
  readonly short: (bytes: Buffer, at: number) => number;
  readonly int: (bytes: Buffer, at: number) => number;
  /** An address or size of this class. */
  readonly long: (bytes: Buffer, at: number) => bigint;
}

function readAt(file: number, length: number, position: number): Buffer | null {
  const bytes = Buffer.alloc(length);
  return readSync(file, bytes, 0, length, position) === length ? bytes : null;
}

function kindOf(ident: Buffer | null): Elf | null {
  if (ident?.subarray(0, 4).toString('latin1') !== '\x7fELF') return null;
  const [, , , , kind, order] = ident;
  if (kind !== 1 && kind !== 2) return null;
  const little = order === 1;
  const short = (bytes: Buffer, at: number): number => (little ? bytes.readUInt16LE(at) : bytes.readUInt16BE(at));
  const int = (bytes: Buffer, at: number): number => (little ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at));
  const long = (bytes: Buffer, at: number): bigint => {
    if (kind === 1) return BigInt(int(bytes, at));
    return little ? bytes.readBigUInt64LE(at) : bytes.readBigUInt64BE(at);
  };
  return { layout: LAYOUTS[kind], short, int, long };
}

/** Whether the dynamic section names a library; if not (a static position-independent program), no loader is needed. */
function namesLibrary({ layout: { word }, long }: Elf, section: Buffer): boolean {
  for (let at = 0; at + 2 * word <= section.length; at += 2 * word) {
    const tag = long(section, at);
    if (tag === 0n) return false;
    if (tag === DT_NEEDED) return true;
  }
  return false;
}

/**
 * Why the dynamic loader, and with it LD_PRELOAD and LD_AUDIT, may affect the program at `path`; null: the program is
 * linked statically. Throws if the file can't be read.
 */
export function loaderReason(path: string): string | null {
  const file = openSync(path, 'r');
  try {
    const elf = kindOf(readAt(file, 16, 0));
    if (elf === null) return 'is not an ELF program';
    const { layout, short, int, long } = elf;
    const header = readAt(file, layout.header, 0);
    const size = header === null ? 0 : short(header, layout.phentsize);
    const count = header === null ? 0 : short(header, layout.phnum);
    if (header === null || size < layout.filesz + layout.word || count === 0 || count > MOST_HEADERS)
      return 'is a damaged ELF program';
    const table = readAt(file, size * count, Number(long(header, layout.phoff)));
    if (table === null) return 'is a damaged ELF program';
    for (let at = 0; at < table.length; at += size) {
      const type = int(table, at);
      if (type === PT_INTERP) return 'is linked dynamically';
      if (type !== PT_DYNAMIC) continue;
      const bytes = Math.min(Number(long(table, at + layout.filesz)), MOST_DYNAMIC_BYTES);
      const section = readAt(file, bytes, Number(long(table, at + layout.offset)));
      if (section === null) return 'is a damaged ELF program';
      if (namesLibrary(elf, section)) return 'is linked dynamically';
    }
    return null;
  } finally {
    closeSync(file);
  }
}
