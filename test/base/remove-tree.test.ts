import assert from 'node:assert/strict';
import { existsSync, mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { removeTree } from '../../src/base/remove-tree';
import { temporaryDirectory } from '../support/temporary-directory';

it('removeTree goes from directory to directory, never by a path from the top, which another user could redirect', () => {
  const directory = temporaryDirectory();
  const [top, above] = [join(directory, 'top'), join(directory, 'above')];
  mkdirSync(top);
  // Deeper than the longest path that the kernel takes.
  for (let depth = 0; depth < 25; depth++) {
    mkdirSync(above);
    renameSync(top, join(above, 'x'.repeat(200)));
    renameSync(above, top);
  }
  removeTree(top);
  assert.equal(existsSync(top), false);
});
