import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { isAddress, isDomain, ownerAddress, parseMailbox } from '../../../src/cli/mail/address';
import { anyCharacter } from '../../support/any-character';

describe('ownerAddress', () => {
  it("is the owner's name at the site's domain, or the name alone", () => {
    assert.equal(ownerAddress('alice', 'example.org'), 'alice@example.org');
    assert.equal(ownerAddress('a.b-c_d+e', ''), 'a.b-c_d+e');
  });

  it('refuses owners that would lead elsewhere, or are no name', () => {
    const unsound = [
      'bob@evil.example',
      'EXAMPLE\\bob',
      'a b',
      '',
      '-f',
      '.a',
      'a.',
      'a..b',
      'a,b',
      'a\r\nBcc: x',
      'ä',
    ];
    for (const owner of [...unsound, '<a>', '"a"', 'a;b', '|sh', 'a'.repeat(65)])
      assert.equal(ownerAddress(owner, 'example.org'), null, owner);
  });

  it('is null or one address at that domain, whatever the owner is called', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.string({ unit: anyCharacter })), (owner) => {
        const address = ownerAddress(owner, 'example.org');
        if (address !== null) assert.match(address, /^[A-Za-z0-9_][A-Za-z0-9_+.-]*@example\.org$/);
      }),
      { numRuns: 50 },
    );
  });
});

describe('parseMailbox', () => {
  it('reads a name beside an address', () => {
    assert.deepEqual(parseMailbox('Cluster <qmemacct@example.org>'), {
      name: 'Cluster',
      address: 'qmemacct@example.org',
    });
    assert.deepEqual(parseMailbox('"A, B" <a@b>'), { name: 'A, B', address: 'a@b' });
    assert.deepEqual(parseMailbox('qmemacct'), { name: '', address: 'qmemacct' });
    for (const text of ['', 'a@b@c', 'A <a@b> x', 'A <a@b>, <c@d>', 'A\n <a@b>', '<>'])
      assert.equal(parseMailbox(text), null, text);
  });
});

describe('isDomain', () => {
  it('knows a domain from other text', () => {
    assert.ok(isDomain('example.org') && isDomain('localhost') && isAddress('root@h-1.example.org'));
    for (const text of ['', '-a.b', 'a..b', 'a.b.', 'a b', `${'a'.repeat(64)}.org`, '[127.0.0.1]'])
      assert.ok(!isDomain(text), text);
  });
});
