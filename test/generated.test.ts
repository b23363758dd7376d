import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { packageRoot } from '../src/base/package-root';
import { GENERATED } from './generate';

for (const { path, make } of GENERATED)
  it(`${path} is as the code makes it`, () => {
    const present = readFileSync(join(packageRoot(), path), 'utf8');
    assert.equal(present, make(present), 'run "npm run generate"');
  });
