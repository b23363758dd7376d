import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { memoryLimit, requestViews, timeLimit } from '../../src/live/requests';
import { byDefault, detail, GIB, hard, listed, soft } from './snapshots';

const both = new Set(['h_vmem', 'mem_free']);
const limitOf = (...requests: ReturnType<typeof hard>[]): unknown =>
  memoryLimit(requestViews(listed(1, null, { requests }), null, both), true);

describe('requestViews', () => {
  it('has the complexes asked for, with the bytes that Grid Engine reckoned', () => {
    const views = requestViews(
      listed(1, null, { requests: [hard('4G'), hard('1', 'disk'), soft('2G', 'mem_free')] }),
      detail(1, [], { requests: [{ ...hard('4G'), amount: 5 * GIB }] }),
      both,
    );
    assert.deepEqual(views, [
      { complex: 'h_vmem', kind: 'hard', text: '4G', bytes: 5 * GIB },
      { complex: 'mem_free', kind: 'soft', text: '2G', bytes: 2 * GIB },
    ]);
  });

  it('adds what qstat -j alone tells', () => {
    const views = requestViews(null, detail(1, [], { requests: [{ ...hard('1g'), amount: null }] }), both);
    assert.deepEqual(views, [{ complex: 'h_vmem', kind: 'hard', text: '1g', bytes: 1e9 }]);
  });

  it('takes what was typed where Grid Engine has printed the same with six digits', () => {
    const bytes = (value: string, amount: number): unknown =>
      requestViews(null, detail(1, [], { requests: [{ ...hard(value), amount }] }), both)[0]?.bytes;
    assert.equal(bytes('300M', 3.14573e8), 300 * 1024 * 1024);
    assert.equal(bytes('0.2G', 2.14748e8), 214748364);
    assert.equal(bytes('300M', 3.14e8), 3.14e8);
  });

  it('has no bytes for what it can not read', () => {
    for (const value of ['4GB', '', 'INFINITY', '-1G'])
      assert.equal(requestViews(listed(1, null, { requests: [hard(value)] }), null, both)[0]?.bytes, null);
  });
});

describe('timeLimit', () => {
  it('is the h_rt that was requested, wherever it stands', () => {
    const hour = hard('1:00:00', 'h_rt');
    assert.equal(timeLimit(listed(1, null, { requests: [hard('4G'), hour] }), null), 3600);
    assert.equal(timeLimit(null, detail(1, [], { requests: [{ ...hour, amount: null }] })), 3600);
    for (const other of [soft('1:00:00', 'h_rt'), hard('INFINITY', 'h_rt'), hard('1:00:00', 's_rt'), hard('x', 'h_rt')])
      assert.equal(timeLimit(listed(1, null, { requests: [other] }), null), null);
  });
});

describe('memoryLimit', () => {
  it('prefers what was asked for to the default, and takes no soft request', () => {
    assert.deepEqual(limitOf(byDefault('1G'), hard('2G')), { state: 'limited', bytes: 2 * GIB });
    assert.deepEqual(limitOf(byDefault('1G'), soft('2G')), { state: 'limited', bytes: GIB });
    assert.deepEqual(limitOf(soft('2G')), { state: 'unlimited', bytes: null });
  });

  it('tells none from unknown', () => {
    assert.deepEqual(memoryLimit([], true), { state: 'unlimited', bytes: null });
    assert.deepEqual(memoryLimit([], false), { state: 'unknown', bytes: null });
    assert.deepEqual(limitOf(hard('4GB')), { state: 'unknown', bytes: null });
    assert.deepEqual(limitOf(hard('-1G')), { state: 'unknown', bytes: null });
  });

  it('takes infinity and 0 as no limit', () => {
    for (const value of ['INFINITY', 'infinity', '0'])
      assert.deepEqual(limitOf(hard(value)), { state: 'unlimited', bytes: null });
  });
});
