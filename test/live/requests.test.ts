import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { memoryLimit, requestViews, timeLimit } from '../../src/live/requests';
import { byDefault, detail, GIB, MIB, hard, listed, soft } from './snapshots';

const both = new Set(['h_vmem', 'mem_free']);
const limitOf = (...requests: ReturnType<typeof hard>[]): unknown =>
  memoryLimit(requestViews(listed(1, null, { requests }), null, both), true);

describe('requestViews', () => {
  it('lists the requested memory complexes, with the bytes that Grid Engine calculated', () => {
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

  it('adds requests that only qstat -j shows', () => {
    const views = requestViews(null, detail(1, [], { requests: [{ ...hard('1g'), amount: null }] }), both);
    assert.deepEqual(views, [{ complex: 'h_vmem', kind: 'hard', text: '1g', bytes: 1e9 }]);
  });

  it('takes the request as typed where Grid Engine printed it with six digits', () => {
    const bytes = (value: string, amount: number): unknown =>
      requestViews(null, detail(1, [], { requests: [{ ...hard(value), amount }] }), both)[0]?.bytes;
    assert.equal(bytes('300M', 3.14573e8), 300 * 1024 * 1024);
    assert.equal(bytes('0.2G', 2.14748e8), 214748364);
    assert.equal(bytes('300M', 3.14e8), 3.14e8);
  });

  it('tells requests for the master or the slave tasks from those for every slot', () => {
    const master = { ...hard('4G'), scope: 'master' } as const;
    const slave = { ...hard('1G'), scope: 'slave' } as const;
    const views = requestViews(
      listed(1, null, { requests: [master, slave] }),
      detail(1, [], { requests: [{ ...slave, amount: 2 * GIB }] }),
      both,
    );
    assert.deepEqual(views, [
      { complex: 'h_vmem', kind: 'master', text: '4G', bytes: 4 * GIB },
      { complex: 'h_vmem', kind: 'slave', text: '1G', bytes: 2 * GIB },
    ]);
    assert.deepEqual(memoryLimit(views, true), { complex: null, state: 'unknown', bytes: null });
    assert.deepEqual(limitOf(master, hard('2G', 'mem_free')), {
      complex: 'mem_free',
      state: 'limited',
      bytes: 2 * GIB,
    });
  });

  it('has no bytes for an unreadable request', () => {
    for (const value of ['4GB', '', 'INFINITY', '-1G'])
      assert.equal(requestViews(listed(1, null, { requests: [hard(value)] }), null, both)[0]?.bytes, null);
  });
});

describe('timeLimit', () => {
  it('is the requested h_rt from either answer', () => {
    const hour = hard('1:00:00', 'h_rt');
    assert.equal(timeLimit(listed(1, null, { requests: [hard('4G'), hour] }), null), 3600);
    assert.equal(timeLimit(null, detail(1, [], { requests: [{ ...hour, amount: null }] })), 3600);
    const scoped = { ...hour, scope: 'slave' } as const;
    const others = [
      soft('1:00:00', 'h_rt'),
      scoped,
      hard('INFINITY', 'h_rt'),
      hard('1:00:00', 's_rt'),
      hard('x', 'h_rt'),
    ];
    for (const other of others) assert.equal(timeLimit(listed(1, null, { requests: [other] }), null), null);
  });
});

describe('memoryLimit', () => {
  it('prefers a hard request to the default, and ignores soft requests', () => {
    assert.deepEqual(limitOf(byDefault('1G'), hard('2G')), { complex: 'h_vmem', state: 'limited', bytes: 2 * GIB });
    assert.deepEqual(limitOf(byDefault('1G'), soft('2G')), { complex: 'h_vmem', state: 'limited', bytes: GIB });
    assert.deepEqual(limitOf(soft('2G')), { complex: null, state: 'unlimited', bytes: null });
  });

  it('takes the first requested complex in the configured order, before any default but that of h_vmem', () => {
    const memFree = { complex: 'mem_free', state: 'limited', bytes: 3 * GIB };
    assert.deepEqual(limitOf(hard('3G', 'mem_free')), memFree);
    const byDefaultToo = requestViews(
      listed(1, null, { requests: [hard('3G', 'mem_free'), byDefault('1G')] }),
      null,
      both,
    );
    assert.deepEqual(memoryLimit(byDefaultToo, true), { complex: 'h_vmem', state: 'limited', bytes: GIB });
    assert.deepEqual(memoryLimit(byDefaultToo, true, ['mem_free', 'h_vmem']), memFree);
    assert.deepEqual(limitOf(hard('3G', 'mem_free'), byDefault('0')), memFree);
    assert.deepEqual(limitOf(hard('3G', 'mem_free'), hard('infinity')), memFree);
    const two = requestViews(listed(1, null, { requests: [hard('3G', 'mem_free'), hard('8G')] }), null, both);
    assert.equal(memoryLimit(two, true).complex, 'h_vmem');
    assert.deepEqual(memoryLimit(two, true, ['mem_free', 'h_vmem']), memFree);
  });

  it('tells "no limit" from "unknown"', () => {
    assert.deepEqual(memoryLimit([], true), { complex: null, state: 'unlimited', bytes: null });
    assert.deepEqual(memoryLimit([], false), { complex: null, state: 'unknown', bytes: null });
    assert.deepEqual(limitOf(hard('4GB')), { complex: 'h_vmem', state: 'unknown', bytes: null });
    assert.deepEqual(limitOf(hard('-1G')), { complex: 'h_vmem', state: 'unknown', bytes: null });
  });

  it('takes infinity and 0 as no limit, except h_vmem=0', () => {
    for (const value of ['INFINITY', 'infinity'])
      assert.deepEqual(limitOf(hard(value)), { complex: 'h_vmem', state: 'unlimited', bytes: null });
    assert.deepEqual(limitOf(hard('0', 'mem_free')), { complex: 'mem_free', state: 'unlimited', bytes: null });
    for (const request of [hard('0'), byDefault('0')])
      assert.deepEqual(limitOf(request), { complex: 'h_vmem', state: 'limited', bytes: 10 * MIB });
  });
});
