import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  byHostName,
  HOST_ORDERS,
  byNumber,
  JOB_ORDERS,
  PENDING_ORDERS,
  sortRows,
} from '../../../src/report/live/orders';
import { GIB } from '../../live/snapshots';
import { oneJob, sampleView, trendIn } from './sample-view';

const view = sampleView();
const sorted = (key: string, reverse = false): readonly number[] => {
  const order = JOB_ORDERS.find((one) => one.key === key);
  assert.ok(order !== undefined, key);
  const jobs = [
    oneJob(
      3,
      { owner: 'carol', maxvmem: 3 * GIB, limit: 8 * GIB, slots: 2 },
      { masterMaxvmem: 3 * GIB, limit: 8 * GIB },
    ),
    oneJob(
      1,
      { owner: 'alice', maxvmem: 2 * GIB, limit: 4 * GIB, trend: trendIn(60), startedAt: 5 },
      { host: 'b', masterMaxvmem: 2 * GIB },
    ),
    oneJob(2, { owner: 'bob', maxvmem: null, limit: null, startedAt: null, vmem: null }, { host: 'a', limit: null }),
  ];
  return sortRows(jobs, order, reverse, byNumber).map(({ job }) => job);
};

describe('sorting jobs', () => {
  it('puts the largest or longest first, and names in alphabetical order', () => {
    assert.deepEqual(sorted('share'), [1, 3, 2]);
    assert.deepEqual(sorted('risk'), [1, 2, 3]);
    assert.deepEqual(sorted('peak'), [3, 1, 2]);
    assert.deepEqual(sorted('used'), [1, 3, 2]);
    assert.deepEqual(sorted('request'), [3, 1, 2]);
    assert.deepEqual(sorted('slots'), [3, 1, 2]);
    assert.deepEqual(sorted('time'), [1, 3, 2]);
    assert.deepEqual(sorted('owner'), [1, 2, 3]);
    assert.deepEqual(sorted('name'), [1, 2, 3]);
    assert.deepEqual(sorted('host'), [2, 1, 3]);
    assert.deepEqual(sorted('job'), [1, 2, 3]);
  });

  it('can be reversed, with unknown values still last', () => {
    assert.deepEqual(sorted('share', true), [3, 1, 2]);
    assert.deepEqual(sorted('job', true), [3, 2, 1]);
  });

  it('by any key also sorts waiting jobs', () => {
    for (const order of PENDING_ORDERS)
      assert.equal(sortRows(view.pending ?? [], order, false, byNumber).length, 2, order.key);
  });
});

describe('sorting hosts', () => {
  const hosts = (key: string, reverse = false): readonly string[] => {
    const order = HOST_ORDERS.find((one) => one.key === key);
    assert.ok(order !== undefined, key);
    return sortRows(view.hosts, order, reverse, byHostName).map(({ name }) => name.split('.', 1)[0] ?? '');
  };

  it('puts the largest first, and sorts names by their numbers', () => {
    assert.deepEqual(hosts('host'), ['node01', 'node02', 'node03', 'node04']);
    assert.deepEqual(hosts('requested'), ['node01', 'node02', 'node03', 'node04']);
    assert.deepEqual(hosts('percent'), ['node04', 'node01', 'node02', 'node03']);
    assert.deepEqual(hosts('free'), ['node01', 'node02', 'node03', 'node04']);
    assert.deepEqual(hosts('stranded')[0], 'node02');
    const [host] = view.hosts;
    assert.ok(host !== undefined);
    const three = ['n10', 'n9', 'm1'].map((name) => ({ ...host, name }));
    assert.deepEqual(
      sortRows(three, HOST_ORDERS[0], false, byHostName).map(({ name }) => name),
      ['m1', 'n9', 'n10'],
    );
  });

  it('knows every key', () => {
    for (const { key } of HOST_ORDERS) assert.equal(hosts(key).length, 4);
  });
});
