import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { destinationNow } from '../../../src/sampler/delivery/destination';
import { parseSettings } from '../../../src/record/settings';
import { temporaryDirectory } from '../../support/temporary-directory';

describe('destinationNow', () => {
  it('is the one configured now, or the earlier one where the configuration is gone', () => {
    const path = join(temporaryDirectory(), 'qmemacct.toml');
    const begun = parseSettings('accounting = "/old/accounting.db"', path);
    assert.equal(destinationNow(path, begun), begun);
    writeFileSync(path, 'accounting = "postgres://hooks@db/site"\naccounting_credentials = "/etc/qmemacct/pgpass"\n');
    const now = destinationNow(path, begun);
    assert.equal(now.accounting, 'postgres://hooks@db/site');
    assert.equal(now.accounting_credentials, '/etc/qmemacct/pgpass');
    // As while an editor replaces the file.
    rmSync(path);
    assert.equal(destinationNow(path, begun), begun);
    writeFileSync(path, 'accounting = "postgres://hooks:secret@db/site"');
    assert.throws(() => destinationNow(path, begun), /holds a password/);
  });
});
