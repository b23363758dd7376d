import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { packageRoot } from '../../src/base/package-root';

describe('packageRoot', () => {
  it('is the directory with package.json, bin, hooks and sql', () => {
    const { name } = JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8')) as { readonly name: string };
    assert.equal(name, 'qmemacct');
    for (const part of ['bin', 'hooks', 'sql/node']) assert.ok(existsSync(join(packageRoot(), part)), part);
    assert.equal(packageRoot(), packageRoot());
  });
});
