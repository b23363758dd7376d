import type { Settings } from '../../../src/record/settings';
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { digestOwners, wantsMail } from '../../../src/cli/nightly/send-night';
import type { DigestChoice } from '../../../src/cli/nightly/digest-choices';

const rule = (mail_owners: Settings['mail_owners'], mail_admins: readonly string[] = []) => ({
  mail_owners,
  mail_admins,
  mail_domain: '',
});
const choices: ReadonlyMap<string, DigestChoice> = new Map([
  ['alice', 'on'],
  ['bob', 'off'],
]);
const owners = ['alice', 'bob', 'carol'];

describe('who gets a digest', () => {
  it('is for the site and the owner to say', () => {
    assert.deepEqual(digestOwners(rule('nobody'), owners, choices), []);
    assert.deepEqual(digestOwners(rule('listed'), owners, choices), ['alice']);
    assert.deepEqual(digestOwners(rule('all'), owners, choices), ['alice', 'carol']);
  });

  it('is never one who declined, and only who had jobs', () => {
    const name = fc.constantFrom<string>('a', 'b', 'c', 'd', '__proto__', 'constructor');
    const said = fc.array(fc.tuple(name, fc.constantFrom<DigestChoice>('on', 'off')));
    fc.assert(
      fc.property(
        fc.constantFrom<Settings['mail_owners']>('nobody', 'listed', 'all'),
        fc.uniqueArray(name),
        said,
        (how, had, list) => {
          const by = new Map<string, DigestChoice>(list);
          const got = digestOwners(rule(how), had, by);
          assert.ok(got.every((owner) => had.includes(owner) && by.get(owner) !== 'off'));
          if (how === 'listed') assert.ok(got.every((owner) => by.get(owner) === 'on'));
        },
      ),
    );
  });

  it('no mail at all is a site where nobody is to get one', () => {
    assert.deepEqual(
      [rule('nobody'), rule('nobody', ['root']), rule('listed')].map((one) => wantsMail(one)),
      [false, true, true],
    );
  });
});
