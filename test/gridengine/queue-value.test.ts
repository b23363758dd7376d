import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import fc from 'fast-check';

import { formatQueueValue, parseQueueValue, queueValuesFor, type QueueValue } from '../../src/gridengine/queue-value';

function parsed(text: string): QueueValue {
  const result = parseQueueValue(text);
  assert.ok(result.ok, result.ok ? '' : result.error);
  return result.value;
}

describe('parseQueueValue', () => {
  it('reads a default and overrides', () => {
    assert.deepEqual(parsed('a,[h1=b],[@g=c]'), {
      value: 'a',
      overrides: [
        { host: 'h1', value: 'b' },
        { host: '@g', value: 'c' },
      ],
    });
    assert.deepEqual(parsed('NONE'), { value: 'NONE', overrides: [] });
  });

  it('lets values hold commas, blanks, equals signs and closing brackets', () => {
    assert.deepEqual(parsed('/x a,b=c d, [@g=lic=4,fast=0] , [h1=/y "p]" q]'), {
      value: '/x a,b=c d',
      overrides: [
        { host: '@g', value: 'lic=4,fast=0' },
        { host: 'h1', value: '/y "p]" q' },
      ],
    });
  });

  it('accepts and refuses the same values as qconf -Mq of 8.1.9', () => {
    for (const text of ['/x a,b', '/x a,b,[gex=/y c,d]', '/x "p]" q,[gex=/y]q]']) {
      assert.deepEqual(formatQueueValue(parsed(text)), { ok: true, value: text });
    }
    assert.equal(parseQueueValue('/x a]').ok, false);
  });

  it('reads overrides without a default', () => assert.equal(parsed('[h1=b]').value, null));

  it('refuses what Grid Engine refuses', () => {
    for (const text of ['', ' ', 'a[h=b]', 'a,[h=b', 'a,[hb]', 'a,[=b]', 'a,[h=b][i=c]', 'a,', 'a]', 'a,[h=b],']) {
      assert.equal(parseQueueValue(text).ok, false, text);
    }
  });

  it('never throws', () => {
    const pieces = fc.constantFrom('[', ']', ',', '=', '@', 'a', ' ');
    fc.assert(
      fc.property(
        fc.array(pieces).map((parts) => parts.join('')),
        (text) => void parseQueueValue(text),
      ),
    );
  });
});

describe('formatQueueValue', () => {
  it('writes any value so that parseQueueValue reads it back', () => {
    const text = fc.stringMatching(/^[A-Za-z/][A-Za-z0-9/$@=., \]-]{0,20}[A-Za-z0-9]$/);
    const host = fc.stringMatching(/^@?[a-z][a-z0-9.-]{0,8}$/);
    const override = fc.tuple(host, text).map(([name, value]) => ({ host: name, value }));
    const overrides = fc.array(override, { maxLength: 4 });
    fc.assert(
      fc.property(text, overrides, (value, own) => {
        const written = formatQueueValue({ value, overrides: own });
        assert.ok(written.ok);
        assert.deepEqual(parsed(written.value), { value, overrides: own });
      }),
    );
  });

  it('writes what qconf prints', () => {
    const text = 'NONE,[@gpu=root@/opt/gpu.sh $job_id],[node1=NONE]';
    assert.deepEqual(formatQueueValue(parsed(text)), { ok: true, value: text });
  });

  it('refuses what could not be read back', () => {
    const bad: readonly QueueValue[] = [
      { value: 'a[b', overrides: [] },
      { value: null, overrides: [] },
      { value: '', overrides: [] },
      { value: 'a,', overrides: [] },
      { value: 'a', overrides: [{ host: '', value: 'b' }] },
      { value: 'a', overrides: [{ host: 'h', value: 'b\nc' }] },
    ];
    for (const value of bad) assert.equal(formatQueueValue(value).ok, false, JSON.stringify(value));
  });
});

describe('queueValuesFor', () => {
  const value = parsed('d,[@g=1],[@k=2],[h1=3]');
  it('prefers the host, then its groups, then the default', () => {
    assert.deepEqual(queueValuesFor(value, 'H1', ['@g']), ['3']);
    assert.deepEqual(queueValuesFor(value, 'h2', ['@k']), ['2']);
    assert.deepEqual(queueValuesFor(value, 'h2', []), ['d']);
  });

  it('returns both values of an ambiguous configuration', () =>
    assert.deepEqual(queueValuesFor(value, 'h2', ['@g', '@k']), ['1', '2']));
});
