import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { describeFilter } from '../../../src/report/records/filter-text';
import { hostile } from '../sample-records';
import { testScreen } from '../screens';

describe('describeFilter', () => {
  it('describes the filter in words', () => {
    assert.equal(describeFilter({}, testScreen()), '');
    assert.equal(
      describeFilter(
        {
          owner: 'bob',
          pe: 'smp',
          job_name: 'a*',
          states: ['lost', 'unsampled'],
          failed: true,
          sampled: false,
          peak_at_least: 2 ** 30,
          limit_at_most: 4 * 2 ** 30,
          share_at_least: 0.8,
          wallclock_at_least: 5400,
        },
        testScreen(),
      ),
      'owner bob, parallel environment smp, name a*, lost or unsampled, failed, not sampled, peak at least 1.00 GiB, ' +
        'limit at most 4.00 GiB, used at least 80 %, ran at least 1:30:00',
    );
  });

  it('prints no control character of hostile names', () => {
    for (const unicode of [true, false]) {
      const words = describeFilter(
        { job_name: hostile.job_name ?? '', queue: hostile.queue ?? '' },
        testScreen({ unicode }),
      );
      assert.doesNotMatch(words, unicode ? /\p{C}/u : /[^ -~]/);
    }
  });
});
