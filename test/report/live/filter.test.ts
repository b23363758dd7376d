import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { filterHosts, keepsJob, keepsPending, NO_FILTER, type LiveFilter } from '../../../src/report/live/filter';
import { HOSTILE_NAME, HOSTILE_OWNER } from '../../live/snapshots';
import { oneJob, sampleView } from './sample-view';

const view = sampleView();
const jobsKept = (filter: Partial<LiveFilter>): readonly string[] =>
  view.jobs
    .filter((job) => keepsJob({ ...NO_FILTER, ...filter }, job))
    .map(({ job, task }) => (task === null ? String(job) : `${job}.${task}`));

describe('keepsJob', () => {
  it('keeps every job without a filter', () => assert.equal(jobsKept({}).length, view.jobs.length));

  it('filters by job, array task and glob', () => {
    assert.deepEqual(jobsKept({ job: ['102'] }), ['102.1', '102.2', '102.3']);
    assert.deepEqual(jobsKept({ job: ['102.2', '105'] }), ['102.2', '105']);
    assert.deepEqual(jobsKept({ job: ['10?.3'] }), ['102.3']);
    assert.deepEqual(jobsKept({ job: ['10'] }), []);
  });

  it('filters by owner, exactly or by glob', () => {
    assert.deepEqual(jobsKept({ owner: ['bob'] }), ['103', '104']);
    assert.deepEqual(jobsKept({ owner: ['b*', 'erin'] }), ['103', '104', '109']);
    assert.deepEqual(jobsKept({ owner: ['bo'] }), []);
    assert.deepEqual(jobsKept({ owner: [HOSTILE_OWNER] }), ['107']);
  });

  it('filters by each host of a job, also by its short name', () => {
    assert.deepEqual(jobsKept({ host: ['node02'] }), ['102.3', '103', '104', '106', '107', '109']);
    assert.deepEqual(jobsKept({ host: ['node04'] }), ['105', '110']);
    assert.deepEqual(jobsKept({ host: ['*.example.org'] }), ['105', '110']);
  });

  it('filters by queue and queue instance', () => {
    assert.equal(jobsKept({ queue: ['all.q'] }).length, view.jobs.length);
    assert.deepEqual(jobsKept({ queue: ['*@node03'] }), ['108']);
    assert.deepEqual(jobsKept({ queue: ['short.q'] }), []);
  });

  it('filters by project, and by NONE for jobs without a project', () => {
    assert.deepEqual(jobsKept({ project: ['<i>*'] }), ['107']);
    assert.equal(jobsKept({ project: ['NONE'] }).length, view.jobs.length - 1);
  });

  it('finds a word in any field, ignoring case', () => {
    assert.deepEqual(jobsKept({ any: ['SOLV'] }), ['104']);
    assert.deepEqual(jobsKept({ any: ['/c calc'] }), ['107']);
    assert.ok(HOSTILE_NAME.includes('/C calc'));
    assert.deepEqual(jobsKept({ any: ['mpi*'] }), ['103']);
  });

  it('keeps only jobs that match all filters', () => {
    assert.deepEqual(jobsKept({ owner: ['bob'], job: ['103', '105'] }), ['103']);
    assert.deepEqual(jobsKept({ owner: ['bob'], host: ['node03'] }), []);
  });
});

describe('keepsPending', () => {
  const pending = (filter: Partial<LiveFilter>): readonly number[] =>
    (view.pending ?? []).filter((job) => keepsPending({ ...NO_FILTER, ...filter }, job)).map(({ job }) => job);

  it('filters by job, owner, project and word', () => {
    assert.deepEqual(pending({}), [201, 202]);
    assert.deepEqual(pending({ job: ['201'] }), [201]);
    assert.deepEqual(pending({ job: ['201.100'] }), [201]);
    assert.deepEqual(pending({ job: ['20?.*'] }), [201, 202]);
    assert.deepEqual(pending({ job: ['201.101', '202.1', '201.x'] }), []);
    assert.deepEqual(pending({ owner: ['dave'] }), [202]);
    assert.deepEqual(pending({ project: ['NONE'], any: ['dav'] }), [202]);
  });

  it('keeps no waiting job under a host or queue filter', () => {
    assert.deepEqual(pending({ host: ['*'] }), []);
    assert.deepEqual(pending({ queue: ['*'] }), []);
  });
});

describe('filterHosts', () => {
  const hosts = (filter: Partial<LiveFilter>): readonly (readonly [string, number])[] =>
    filterHosts({ ...NO_FILTER, ...filter }, view).map(({ name, parts }) => [name, parts.length] as const);

  it('keeps all jobs of a host without a filter of jobs', () => {
    assert.deepEqual(hosts({ host: ['node01'] }), [['node01', 5]]);
    assert.equal(hosts({}).length, 4);
  });

  it('keeps hosts with a matching job, and only that job', () => {
    assert.deepEqual(hosts({ owner: ['bob'] }), [
      ['node01', 2],
      ['node02', 2],
    ]);
    assert.deepEqual(hosts({ job: ['102.3'] }), [['node02', 1]]);
    assert.deepEqual(hosts({ job: ['102'], owner: ['alice'], host: ['node01'] }), [['node01', 2]]);
    assert.deepEqual(hosts({ owner: ['nobody'] }), []);
    assert.deepEqual(hosts({ queue: ['other.q'] }), []);
    assert.deepEqual(
      hosts({ queue: ['*'] }).map(([name]) => name),
      ['node01', 'node02', 'node03', 'node04.example.org'],
    );
  });

  it('finds a word in the name of a host or in its jobs', () => {
    assert.deepEqual(
      hosts({ any: ['node03'] }).map(([name]) => name),
      ['node03'],
    );
    assert.deepEqual(
      hosts({ any: ['solver'] }).map(([name]) => name),
      ['node01', 'node02'],
    );
  });
});

it('keepsJob handles jobs without hosts', () => {
  const nowhere = { ...oneJob(1), parts: [] };
  assert.equal(keepsJob({ ...NO_FILTER, host: ['*'] }, nowhere), false);
  assert.equal(keepsJob({ ...NO_FILTER, owner: ['alice'] }, nowhere), true);
});
