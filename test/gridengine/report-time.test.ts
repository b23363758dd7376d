import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import fc from 'fast-check';

import { parseReportTime } from '../../src/gridengine/report-time';

describe('parseReportTime', () => {
  it('reads ISO without a zone as local time', () => {
    assert.equal(parseReportTime('2026-11-21T10:07:58'), new Date(2026, 10, 21, 10, 7, 58).getTime());
    assert.equal(parseReportTime('2020-02-29T23:59:59.230'), new Date(2020, 1, 29, 23, 59, 59, 230).getTime());
    assert.equal(parseReportTime('2024-06-28T11:59:43.834192'), new Date(2024, 5, 28, 11, 59, 43, 834).getTime());
  });

  it('respects a time zone', () => {
    assert.equal(parseReportTime('2026-11-21T10:07:58.123Z'), Date.UTC(2026, 10, 21, 10, 7, 58, 123));
    assert.equal(parseReportTime('2026-11-21T10:07:58+01:00'), Date.UTC(2026, 10, 21, 9, 7, 58));
    assert.equal(parseReportTime('2026-11-21T10:07:58-0530'), Date.UTC(2026, 10, 21, 15, 37, 58));
  });

  it('reads the epoch in seconds, milliseconds and microseconds', () => {
    assert.equal(parseReportTime('1795248478'), 1795248478000);
    assert.equal(parseReportTime('1795248478123'), 1795248478123);
    assert.equal(parseReportTime('1795248478123456'), 1795248478123);
  });

  it('reads times as the text output prints them', () => {
    assert.equal(parseReportTime('11/21/2026 10:07:58'), new Date(2026, 10, 21, 10, 7, 58).getTime());
    assert.equal(parseReportTime('11/21/2026 10:07:58.230'), new Date(2026, 10, 21, 10, 7, 58, 230).getTime());
  });

  it('returns null for text that is no time, and for the epoch itself', () => {
    const rest = ['', '0', '-', '2026-13-01T00:00:00', '2026-01-32T00:00:00', '2026-01-01T25:00:00', '2026-01-01'];
    const midnight = ['2026-01-01T24:00:00', '01/01/2026 24:00:00'];
    for (const text of [
      ...rest,
      ...midnight,
      '1970-01-01T00:00:00',
      '1970-01-01T01:00:00',
      '1970-01-01T00:00:00Z',
      '0099-01-01T00:00:00',
      'NaN',
    ]) {
      assert.equal(parseReportTime(text), null, text);
    }
  });

  it('returns a time after the epoch or null for any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...Array.from('0123456789-:T. Z+/')) }), (text) => {
        const time = parseReportTime(text);
        assert.ok(time === null || (Number.isSafeInteger(time) && time > 0));
      }),
    );
  });
});
