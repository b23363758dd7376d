import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';

import { parseClusterName, readClusterName } from '../../src/gridengine/cluster-name';
import { temporaryDirectory } from '../support/temporary-directory';

describe('readClusterName', () => {
  let root: string;
  before(() => {
    root = temporaryDirectory();
    for (const cell of ['named', 'bare', 'odd', 'folder']) mkdirSync(join(root, cell, 'common'), { recursive: true });
    writeFileSync(join(root, 'named', 'common', 'cluster_name'), 'p6444\n');
    writeFileSync(join(root, 'odd', 'common', 'cluster_name'), 'not a name\n');
    mkdirSync(join(root, 'folder', 'common', 'cluster_name'));
  });

  it('reads the file cluster_name', () => {
    assert.equal(readClusterName(root, 'named'), 'p6444');
  });

  it('returns the name of the cell where there is no usable file', () => {
    for (const cell of ['bare', 'odd', 'folder']) assert.equal(readClusterName(root, cell), cell);
  });
});

describe('parseClusterName', () => {
  it('accepts one plain word only', () => {
    assert.equal(parseClusterName(' main-1.site \n'), 'main-1.site');
    assert.equal(parseClusterName('p1'), 'p1');
    for (const text of ['', '\n', 'a b', 'ä', '-x', '../x', 'x'.repeat(200)])
      assert.equal(parseClusterName(text), null, text);
  });
});
