import { readFileSync } from 'node:fs';
import * as path from 'node:path';

/** One entry of a cpio archive. */
interface Entry {
  readonly name: string;
  /** File type and permission bits, as in stat(2). */
  readonly mode: number;
  readonly data?: Buffer;
  /** Device number of a device node. */
  readonly device?: readonly [major: number, minor: number];
}

const directory = 0o040755;
const program = 0o100755;
const characterDevice = 0o020600;

/**
 * The archive that the kernel unpacks as its first root: busybox, the init script and the modules to load, which /modules
 * lists in loading order.
 */
export function buildInitramfs(busybox: string, init: string, modules: readonly string[]): Buffer {
  const names = modules.map((file) => path.basename(file));
  return cpio([
    { name: 'bin', mode: directory },
    { name: 'dev', mode: directory },
    { name: 'lib', mode: directory },
    { name: 'dev/console', mode: characterDevice, device: [5, 1] },
    { name: 'bin/busybox', mode: program, data: readFileSync(busybox) },
    { name: 'init', mode: program, data: readFileSync(init) },
    { name: 'modules', mode: program, data: Buffer.from(names.map((name) => `${name}\n`).join('')) },
    ...modules.map((file) => ({ name: `lib/${path.basename(file)}`, mode: program, data: readFileSync(file) })),
  ]);
}

/** Writes the "newc" format by hand: a device node in it then needs neither the cpio program nor root. */
function cpio(entries: readonly Entry[]): Buffer {
  const all: readonly Entry[] = [...entries, { name: 'TRAILER!!!', mode: 0 }];
  return Buffer.concat(
    all.flatMap((entry, index) => {
      const name = Buffer.from(`${entry.name}\0`);
      const data = entry.data ?? Buffer.alloc(0);
      const [major, minor] = entry.device ?? [0, 0];
      const fields = [index + 1, entry.mode, 0, 0, 1, 0, data.length, 0, 0, major, minor, name.length, 0];
      const header = Buffer.from(`070701${fields.map((n) => n.toString(16).padStart(8, '0')).join('')}`);
      return [padded(Buffer.concat([header, name])), padded(data)];
    }),
  );
}

/** Pads a header or a content to a multiple of four bytes, as the format wants. */
function padded(bytes: Buffer): Buffer {
  return Buffer.concat([bytes, Buffer.alloc((4 - (bytes.length % 4)) % 4)]);
}
