import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { formatInterval, formatMoment } from '../../../src/report/format/local-time';

process.env.TZ = 'Europe/Berlin';

describe('formatInterval', () => {
  it('names the zone once, or at both ends where it changes in between', () => {
    const [summer, winter] = [new Date('2026-10-24T23:30:00Z'), new Date('2026-10-25T01:30:00Z')];
    assert.equal(formatInterval(winter, winter, 'to'), '2026-10-25 02:30 to 2026-10-25 02:30 UTC+01:00');
    assert.equal(
      formatInterval(summer, winter, '→', formatMoment),
      '2026-10-25 01:30:00 UTC+02:00 → 2026-10-25 02:30:00 UTC+01:00',
    );
  });
});
