import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { renderJson } from '../../src/report/json';
import { hostile, ordinary } from './sample-records';

describe('renderJson', () => {
  it('holds every field of the record, and the attempt', () => {
    const text = renderJson([{ record: ordinary, attempt: 2 }]);
    assert.deepEqual(JSON.parse(text), { schema: 1, records: [{ ...ordinary, attempt: 2 }] });
  });

  it('keeps what users wrote, without a raw control character', () => {
    const text = renderJson([{ record: hostile, attempt: 1 }]);
    assert.deepEqual(JSON.parse(text), { schema: 1, records: [{ ...hostile, attempt: 1 }] });
    assert.doesNotMatch(text.replaceAll('\n', ''), /[\p{Cc}\u202e]/u);
  });

  it('is one record a line', () => {
    const one = { record: ordinary, attempt: 1 };
    assert.equal(renderJson([one, one, one]).split('\n').length, 6);
    assert.equal(renderJson([]), '{"schema":1,"records":[]}\n');
  });
});
