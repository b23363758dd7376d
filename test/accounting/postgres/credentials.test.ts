import assert from 'node:assert/strict';
import { chmodSync, chownSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { passwordIn, readPassword } from '../../../src/accounting/postgres/credentials';
import { temporaryDirectory } from '../../support/temporary-directory';

const WHOSE = { host: 'db', port: 5432, database: 'accounting', user: 'hooks' };

describe('passwordIn', () => {
  it('takes the first line that fits', () => {
    const text = '# a comment\nother:*:*:*:no\ndb:5432:accounting:hooks:first\n*:*:*:*:second\n';
    assert.equal(passwordIn(text, WHOSE), 'first');
    assert.equal(passwordIn(text, { ...WHOSE, user: 'bob' }), 'second');
    assert.equal(passwordIn('db:5432:accounting:bob:x', WHOSE), null);
    assert.equal(passwordIn('db:5432:accounting', WHOSE), null);
    assert.equal(passwordIn('*:*:*:hooks:', WHOSE), '');
  });

  it('takes any password that is escaped', () => {
    const password = fc.string({ unit: 'binary' }).filter((text) => !/[\r\n]/.test(text));
    fc.assert(
      fc.property(password, (secret) => {
        assert.equal(passwordIn(`*:*:*:*:${secret.replace(/[\\:]/g, '\\$&')}`, WHOSE), secret);
      }),
    );
  });
});

describe('readPassword', () => {
  it('refuses a file that others can read, a link, and what is not a file', () => {
    const directory = temporaryDirectory();
    const path = join(directory, 'pgpass');
    writeFileSync(path, '*:*:*:hooks:secret\n', { mode: 0o600 });
    assert.equal(readPassword(path, WHOSE), 'secret');
    assert.equal(readPassword(path, { ...WHOSE, user: 'bob' }), null);
    chmodSync(path, 0o604);
    assert.throws(() => readPassword(path, WHOSE), /others can read the credentials; chmod 0600/);
    chmodSync(path, 0o600);
    symlinkSync(path, join(directory, 'link'));
    assert.throws(() => readPassword(join(directory, 'link'), WHOSE), /can't be read \(ELOOP\)/);
    assert.throws(() => readPassword(directory, WHOSE), /not a small file/);
    assert.throws(() => readPassword(join(directory, 'none'), WHOSE), /can't be read \(ENOENT\)/);
  });

  it(
    "takes root to the deliverer's file",
    { skip: process.geteuid?.() !== 0 && 'only root can give a file away' },
    () => {
      const directory = temporaryDirectory();
      const path = join(directory, 'pgpass');
      writeFileSync(path, '*:*:*:hooks:secret\n', { mode: 0o600 });
      chownSync(path, 65534, 65534);
      assert.equal(readPassword(path, WHOSE), 'secret');
    },
  );
});
