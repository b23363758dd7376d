import fs, { type WriteFileOptions } from 'node:fs';
import type { TestContext } from 'node:test';

/** During this test, writing a file with such a path makes an empty file and fails as on a full disk. */
export function noRoomFor(t: TestContext, isMeant: (path: string) => boolean): void {
  const { writeFileSync } = fs;
  t.mock.method(fs, 'writeFileSync', (path: string, text: string, options?: WriteFileOptions) => {
    writeFileSync(path, isMeant(path) ? '' : text, options);
    if (isMeant(path)) throw new Error('ENOSPC: no space left on device');
  });
}
