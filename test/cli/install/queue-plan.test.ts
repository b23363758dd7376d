import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { changeQueueValue, sameQueueValue, type NewValue } from '../../../src/cli/install/queue-plan';
import { formatQueueValue, parseQueueValue, queueValuesFor } from '../../../src/gridengine/queue-value';

const HOSTS = ['a', 'b', 'c'];
const GROUPS = new Map([
  ['@ab', ['a', 'b']],
  ['@c', ['c']],
]);
const wrap: NewValue = (_host, value) => (value.startsWith('our') ? value : `our ${value}`);

function changed(text: string, chosen: readonly string[] | null, newValue = wrap): string {
  const parsed = parseQueueValue(text);
  assert.ok(parsed.ok);
  const result = changeQueueValue(parsed.value, HOSTS, GROUPS, chosen, newValue);
  return result.ok ? result.value : `error: ${result.error}`;
}

function valueFor(text: string, host: string): readonly string[] {
  const parsed = parseQueueValue(text);
  assert.ok(parsed.ok);
  return queueValuesFor(
    parsed.value,
    host,
    [...GROUPS].filter(([, members]) => members.includes(host)).map(([group]) => group),
  );
}

describe('changeQueueValue', () => {
  it('changes every part for all hosts', () => {
    assert.equal(changed('/x,[@ab=/y],[c=/z]', null), 'our /x,[@ab=our /y],[c=our /z]');
  });

  it('gives a chosen host a value of its own and leaves what others share', () => {
    assert.equal(changed('/x', ['a']), '/x,[a=our /x]');
    assert.equal(changed('/x,[@ab=/y]', ['b', 'c']), '/x,[@ab=/y],[c=our /x],[b=our /y]');
    assert.equal(changed('/x,[a=/y]', ['a']), '/x,[a=our /y]');
  });

  it('gives chosen hosts the new value and lets others keep theirs, whatever the queue has', () => {
    const value = fc.constantFrom('NONE', '/x', '/y a,b', 'root@/z $host');
    const overrides = fc.uniqueArray(fc.tuple(fc.constantFrom('a', 'b', 'c', '@ab', '@c'), value), {
      selector: ([host]) => host,
    });
    fc.assert(
      fc.property(value, overrides, fc.option(fc.subarray(HOSTS)), (preset, places, chosen) => {
        const before = formatQueueValue({
          value: preset,
          overrides: places.map(([host, own]) => ({ host, value: own })),
        });
        assert.ok(before.ok);
        const after = changed(before.value, chosen);
        for (const host of HOSTS) {
          const [own = ''] = valueFor(before.value, host);
          assert.deepEqual(valueFor(after, host), [chosen === null || chosen.includes(host) ? wrap(host, own) : own]);
        }
        assert.equal(changed(after, chosen), after);
      }),
    );
  });
});

describe('sameQueueValue', () => {
  it('ignores the order of overrides, and nothing else', () => {
    assert.ok(sameQueueValue('/x,[a=/y],[@g=/z]', '/x,[@g=/z],[a=/y]'));
    assert.ok(!sameQueueValue('/x,[a=/y]', '/x'));
    assert.ok(!sameQueueValue('/x,[a=/y]', '/x,[a=/z]'));
  });
});
