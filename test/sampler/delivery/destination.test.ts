import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { destinationNow } from '../../../src/sampler/delivery/destination';
import { parseSettings } from '../../../src/record/settings';
import { temporaryDirectory } from '../../support/temporary-directory';

describe('destinationNow', () => {
  it('is what the configuration says now; without one, what it said', () => {
    const path = join(temporaryDirectory(), 'qmemacct.toml');
    const begun = parseSettings('accounting = "/old/accounting.db"', path);
    assert.equal(destinationNow(path, begun), begun);
    writeFileSync(path, 'accounting = "postgres://hooks@db/site"\naccounting_credentials = "/etc/qmemacct/pgpass"\n');
    const now = destinationNow(path, begun);
    assert.equal(now.accounting, 'postgres://hooks@db/site');
    assert.equal(now.accounting_credentials, '/etc/qmemacct/pgpass');
    // An editor has moved it away.
    rmSync(path);
    assert.equal(destinationNow(path, begun), begun);
    writeFileSync(path, 'accounting = "postgres://hooks:secret@db/site"');
    assert.throws(() => destinationNow(path, begun), /holds a password/);
  });
});
