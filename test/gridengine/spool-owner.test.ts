import assert from 'node:assert/strict';
import { chownSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { userName } from '../../src/base/user-name';
import { ownerOfSpool } from '../../src/gridengine/spool-owner';
import { temporaryDirectory } from '../support/temporary-directory';

const isRoot = process.getuid?.() === 0;

describe('ownerOfSpool', { skip: isRoot ? false : 'needs root: it makes files of other users' }, () => {
  it('is the user to whom the shepherd gave its files', () => {
    const spool = temporaryDirectory();
    assert.equal(ownerOfSpool(spool), null);
    for (const name of ['trace', 'error', 'exit_status']) writeFileSync(join(spool, name), '');
    assert.equal(ownerOfSpool(spool), null);
    chownSync(join(spool, 'exit_status'), 1_999_900_001, 0);
    assert.equal(ownerOfSpool(spool), '1999900001');
    chownSync(join(spool, 'trace'), 65534, 0);
    assert.equal(ownerOfSpool(spool), userName(65534));
  });

  it('is not Grid Engine’s own user', () => {
    const spool = temporaryDirectory();
    for (const name of ['trace', 'error', 'exit_status']) writeFileSync(join(spool, name), '');
    chownSync(spool, 65534, 65534);
    chownSync(join(spool, 'trace'), 65534, 0);
    assert.equal(ownerOfSpool(spool), null);
  });

  it('is null where there is no such directory', () => {
    assert.equal(ownerOfSpool('/no/such/directory'), null);
  });
});
