import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { isoTime } from '../../src/export/iso-time';

it('a time is written as Date writes it, in any year', () => {
  const any = fc.date({ noInvalidDate: true });
  fc.assert(fc.property(any, (date) => isoTime(date.getTime()) === date.toISOString()));
  assert.equal(isoTime(-1), '1969-12-31T23:59:59.999Z');
});
