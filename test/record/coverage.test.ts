import assert from 'node:assert/strict';
import { it } from 'node:test';
import { coverageReason, isSampled } from '../../src/record/coverage';
import type { JobRecord } from '../../src/record/record';
import { job, lineOf, T0 } from '../accounting/suite/fixture';

const unsampled = { samples: 0, peak_rss: null, rss_byte_seconds: null } as const;
const withNote = (note: string): JobRecord => job(1, T0, { ...unsampled, notes: ['Something else.', note] });

it('coverageReason says why a job has no samples, or only some', () => {
  const cases: readonly (readonly [JobRecord, string])[] = [
    [job(1, T0), 'sampled'],
    [job(1, T0, { status: 'lost' }), 'sampler-lost'],
    [
      job(1, T0, {
        notes: ['The sampler died before the job ended: what it had saved is shown, its last seconds are missing.'],
      }),
      'sampler-lost',
    ],
    [withNote('Not sampled: the sampler did not start or died before its first saved sample.'), 'sampler-lost'],
    [
      withNote("Not sampled: the job's limit of 10 descriptors leaves no room for a sampler and could not be lifted."),
      'limits',
    ],
    [withNote('Not sampled: the prolog left no run directory.'), 'other'],
    [job(1, T0, { ...unsampled, trust: 'self-reported' }), 'unprivileged'],
    [lineOf(job(1, T0)), 'no-hooks'],
    [lineOf(job(1, T0), { failed: 1 }), 'never-started'],
    [lineOf(job(1, T0), { started_at: null, wallclock_seconds: 0, failed: 0 }), 'never-started'],
    [lineOf(job(1, T0), { failed: 100 }), 'no-hooks'],
  ];
  for (const [record, reason] of cases) assert.equal(coverageReason(record), reason, record.notes.join(' '));
});

it('isSampled is true only if the job has samples', () => {
  assert.deepEqual(
    [null, 0, 1].map((samples) => isSampled(job(1, T0, { samples }))),
    [false, false, true],
  );
});
