import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { packageRoot } from '../../../src/base/package-root';

/** Kernels with different layouts of the files in test/fixtures/proc. */
export const KERNELS = ['3.10', '4.18', '5.14', '6.1', '6.18'] as const;
export type Kernel = (typeof KERNELS)[number];

/** In each fixture tree: a process, its zombie child that never executed anything, and a kernel thread. */
export const PROCESS = 4242;
export const ZOMBIE = 4250;
export const KERNEL_THREAD = 2;

export function fixtureRoot(kernel: Kernel): string {
  return join(packageRoot(), 'test', 'fixtures', 'proc', `linux-${kernel}`);
}

export function fixture(kernel: Kernel, pid: number, name: string): Buffer {
  return readFileSync(join(fixtureRoot(kernel), String(pid), name));
}

/** A text at the start of a larger buffer; the rest is left from an earlier, longer read. */
export function inUsedBuffer(text: Buffer | string): readonly [Buffer, number] {
  const bytes = Buffer.from(text as string);
  const stale = Buffer.from(
    ' 7 (stale) R 1 1 1\nVmPeak:\t 99 kB\nPPid:\t77\nGroups:\t20007 \nUid:\t5\nread_bytes: 9\nwrite_bytes: 9\n'.repeat(
      9,
    ),
  );
  return [Buffer.concat([bytes, stale]), bytes.length];
}

/** Pieces of procfs text in any order, cut anywhere, and plain bytes. */
export function garbage(...texts: readonly Buffer[]): fc.Arbitrary<Buffer> {
  const piece = fc.oneof(
    fc.uint8Array({ maxLength: 64 }).map((bytes) => Buffer.from(bytes)),
    fc
      .tuple(fc.constantFrom(...texts), fc.nat(4000), fc.nat(4000))
      .map(([text, from, length]) => text.subarray(from % (text.length + 1), (from % (text.length + 1)) + length)),
    fc
      .constantFrom('\n', ' ', '(', ')', ':', '\t', '-', '0', '18446744073709551615', '9'.repeat(400))
      .map((word) => Buffer.from(word)),
  );
  return fc.array(piece, { maxLength: 12 }).map((pieces) => Buffer.concat(pieces));
}

/** Every prefix of a text. */
export function prefixes(text: Buffer): readonly Buffer[] {
  return Array.from({ length: text.length + 1 }, (_, length) => text.subarray(0, length));
}
