import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { mergedPages } from '../../../src/sources/proc/ksm';
import { temporaryDirectory } from '../../support/temporary-directory';

describe('pages that KSM has merged', () => {
  it('are those that it saves, none where the kernel has no KSM', () => {
    const sys = temporaryDirectory();
    assert.equal(mergedPages(sys), 0);
    const directory = join(sys, 'kernel/mm/ksm');
    mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, 'pages_sharing'), '40800\n');
    assert.equal(mergedPages(sys), 40_800);
  });
});
