import type { Settings } from '../../../src/record/settings';
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { digestOwners, wantsMail } from '../../../src/cli/nightly/send-night';
import type { DigestChoice } from '../../../src/cli/nightly/digest-choices';

const mailSettings = (mail_owners: Settings['mail_owners'], mail_admins: readonly string[] = []) => ({
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
  it('is decided by the site and the owner', () => {
    assert.deepEqual(digestOwners(mailSettings('nobody'), owners, choices), []);
    assert.deepEqual(digestOwners(mailSettings('listed'), owners, choices), ['alice']);
    assert.deepEqual(digestOwners(mailSettings('all'), owners, choices), ['alice', 'carol']);
  });

  it('is never an owner who declined or had no jobs', () => {
    const name = fc.constantFrom<string>('a', 'b', 'c', 'd', '__proto__', 'constructor');
    const chosen = fc.array(fc.tuple(name, fc.constantFrom<DigestChoice>('on', 'off')));
    fc.assert(
      fc.property(
        fc.constantFrom<Settings['mail_owners']>('nobody', 'listed', 'all'),
        fc.uniqueArray(name),
        chosen,
        (mailOwners, withJobs, list) => {
          const byOwner = new Map<string, DigestChoice>(list);
          const got = digestOwners(mailSettings(mailOwners), withJobs, byOwner);
          assert.ok(got.every((owner) => withJobs.includes(owner) && byOwner.get(owner) !== 'off'));
          if (mailOwners === 'listed') assert.ok(got.every((owner) => byOwner.get(owner) === 'on'));
        },
      ),
    );
  });
});

describe('wantsMail', () => {
  it('is false only where neither owners nor admins get mail', () => {
    assert.deepEqual(
      [mailSettings('nobody'), mailSettings('nobody', ['root']), mailSettings('listed')].map((one) => wantsMail(one)),
      [false, true, true],
    );
  });
});
