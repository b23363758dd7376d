import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { viewCluster } from '../../src/live/view';
import { filterView, type LiveFilter } from '../../src/server/live-filter';
import { answer, AT, waiting, workedExample } from '../live/snapshots';

const pending = [waiting(200), waiting(201, { owner: 'bob', project: 'p' })];
const view = viewCluster({ ...workedExample(), pending: answer(pending) }, [], {
  hVmem: 'slot',
  memoryComplexes: [],
  nowMs: AT,
});

function found(filter: LiveFilter): unknown {
  const { jobs, hosts, pending: waits } = filterView(view, filter);
  const name = ({ job, task }: { readonly job: number; readonly task: number | null }): string =>
    task === null ? String(job) : `${job}.${task}`;
  return {
    jobs: jobs.map(name).join(' '),
    hosts: hosts.map((host) => `${host.name}: ${host.parts.map(name).join(' ')}`),
    waits: waits?.map(({ job }) => job).join(' '),
  };
}

describe('filterView', () => {
  it('is everything without a filter', () => {
    assert.equal(filterView(view, {}), view);
  });

  it('keeps jobs, their hosts, and the parts of these jobs there', () => {
    assert.deepEqual(found({ owner: 'bob' }), {
      jobs: '103',
      hosts: ['node01: 103', 'node02: 103'],
      waits: '201',
    });
    assert.deepEqual(found({ job: { job: 102, task: 3 } }), { jobs: '102.3', hosts: ['node02: 102.3'], waits: '' });
    assert.deepEqual(found({ job: { job: 102, task: null } }), {
      jobs: '102.1 102.2 102.3',
      hosts: ['node01: 102.1 102.2', 'node02: 102.3'],
      waits: '',
    });
    assert.deepEqual(found({ project: 'p' }), { jobs: '', hosts: [], waits: '201' });
    assert.deepEqual(found({ queue: 'other.q' }), { jobs: '', hosts: [], waits: '' });
    assert.deepEqual(found({ owner: 'alice', job: { job: 103, task: null } }), { jobs: '', hosts: [], waits: '' });
  });

  it('keeps a host that was asked for, with or without jobs, by its short or full name', () => {
    const node02 = { jobs: '102.3 103', hosts: ['node02: 102.3 103'], waits: '' };
    assert.deepEqual(found({ host: 'node02' }), node02);
    assert.deepEqual(found({ host: 'NODE02.cluster.example' }), node02);
    assert.deepEqual(found({ host: 'node02', owner: 'carol' }), { jobs: '', hosts: ['node02: '], waits: '' });
    assert.deepEqual(found({ host: 'node0' }), { jobs: '', hosts: [], waits: '' });
  });

  it('leaves the figures of a host as they are', () => {
    const [host] = filterView(view, { owner: 'carol', host: 'node01' }).hosts;
    assert.equal(host?.requested, view.hosts[0]?.requested);
    assert.ok((host?.requested ?? 0) > 0);
  });
});
