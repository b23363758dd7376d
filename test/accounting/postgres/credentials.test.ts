import assert from 'node:assert/strict';
import { chmodSync, chownSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { passwordIn, readPassword } from '../../../src/accounting/postgres/credentials';
import { temporaryDirectory } from '../../support/temporary-directory';
import { anyCharacter } from '../../support/any-character';

const LOGIN = { host: 'db', port: 5432, database: 'accounting', user: 'hooks' };

describe('passwordIn', () => {
  it('is the password of the first matching line', () => {
    const text = '# a comment\nother:*:*:*:no\ndb:5432:accounting:hooks:first\n*:*:*:*:second\n';
    assert.equal(passwordIn(text, LOGIN), 'first');
    assert.equal(passwordIn(text, { ...LOGIN, user: 'bob' }), 'second');
    assert.equal(passwordIn('db:5432:accounting:bob:x', LOGIN), null);
    assert.equal(passwordIn('db:5432:accounting', LOGIN), null);
    assert.equal(passwordIn('*:*:*:hooks:', LOGIN), '');
  });

  it('accepts any escaped password', () => {
    const password = fc.string({ unit: anyCharacter }).filter((text) => !/[\r\n]/.test(text));
    fc.assert(
      fc.property(password, (secret) => {
        assert.equal(passwordIn(`*:*:*:*:${secret.replace(/[\\:]/g, '\\$&')}`, LOGIN), secret);
      }),
    );
  });
});

describe('readPassword', () => {
  it('refuses a file that others can read, a link, a directory and a missing file', () => {
    const directory = temporaryDirectory();
    const path = join(directory, 'pgpass');
    writeFileSync(path, '*:*:*:hooks:secret\n', { mode: 0o600 });
    assert.equal(readPassword(path, LOGIN), 'secret');
    assert.equal(readPassword(path, { ...LOGIN, user: 'bob' }), null);
    chmodSync(path, 0o604);
    assert.throws(() => readPassword(path, LOGIN), /others can read the credentials; chmod 0600/);
    chmodSync(path, 0o600);
    symlinkSync(path, join(directory, 'link'));
    assert.throws(() => readPassword(join(directory, 'link'), LOGIN), /can't be read \(ELOOP\)/);
    assert.throws(() => readPassword(directory, LOGIN), /not a small file/);
    assert.throws(() => readPassword(join(directory, 'none'), LOGIN), /can't be read \(ENOENT\)/);
  });

  it(
    "as root reads the deliverer's file",
    { skip: process.geteuid?.() !== 0 && 'only root can give a file away' },
    () => {
      const directory = temporaryDirectory();
      const path = join(directory, 'pgpass');
      writeFileSync(path, '*:*:*:hooks:secret\n', { mode: 0o600 });
      chownSync(path, 65534, 65534);
      assert.equal(readPassword(path, LOGIN), 'secret');
    },
  );
});
