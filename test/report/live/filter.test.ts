import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PendingView } from '../../../src/live/cluster-view';
import { filterHosts, keepsJob, keepsPending, NO_FILTER, type LiveFilter } from '../../../src/report/live/filter';
import { HOSTILE_NAME, HOSTILE_OWNER } from '../../live/snapshots';
import { oneJob, sampleView } from './sample-view';

const view = sampleView();
const jobs = (filter: Partial<LiveFilter>): readonly string[] =>
  view.jobs
    .filter((job) => keepsJob({ ...NO_FILTER, ...filter }, job))
    .map(({ job, task }) => (task === null ? String(job) : `${job}.${task}`));

describe('keepsJob', () => {
  it('lets everything pass without a filter', () => assert.equal(jobs({}).length, view.jobs.length));

  it('knows jobs, tasks and globs of them', () => {
    assert.deepEqual(jobs({ job: ['102'] }), ['102.1', '102.2', '102.3']);
    assert.deepEqual(jobs({ job: ['102.2', '105'] }), ['102.2', '105']);
    assert.deepEqual(jobs({ job: ['10?.3'] }), ['102.3']);
    assert.deepEqual(jobs({ job: ['10'] }), []);
  });

  it('knows owners exactly and by globs', () => {
    assert.deepEqual(jobs({ owner: ['bob'] }), ['103', '104']);
    assert.deepEqual(jobs({ owner: ['b*', 'erin'] }), ['103', '104', '109']);
    assert.deepEqual(jobs({ owner: ['bo'] }), []);
    assert.deepEqual(jobs({ owner: [HOSTILE_OWNER] }), ['107']);
  });

  it('knows every host of a job, by its short name, too', () => {
    assert.deepEqual(jobs({ host: ['node02'] }), ['102.3', '103', '104', '106', '107', '109']);
    assert.deepEqual(jobs({ host: ['node04'] }), ['105', '110']);
    assert.deepEqual(jobs({ host: ['*.example.org'] }), ['105', '110']);
  });

  it('knows queues and their instances', () => {
    assert.equal(jobs({ queue: ['all.q'] }).length, view.jobs.length);
    assert.deepEqual(jobs({ queue: ['*@node03'] }), ['108']);
    assert.deepEqual(jobs({ queue: ['short.q'] }), []);
  });

  it('knows projects, and who has none', () => {
    assert.deepEqual(jobs({ project: ['<i>*'] }), ['107']);
    assert.equal(jobs({ project: ['NONE'] }).length, view.jobs.length - 1);
  });

  it('finds a word anywhere, in any case', () => {
    assert.deepEqual(jobs({ any: ['SOLV'] }), ['104']);
    assert.deepEqual(jobs({ any: ['/c calc'] }), ['107']);
    assert.ok(HOSTILE_NAME.includes('/C calc'));
    assert.deepEqual(jobs({ any: ['mpi*'] }), ['103']);
  });

  it('wants all of several filters', () => {
    assert.deepEqual(jobs({ owner: ['bob'], job: ['103', '105'] }), ['103']);
    assert.deepEqual(jobs({ owner: ['bob'], host: ['node03'] }), []);
  });
});

describe('keepsPending', () => {
  const pending = (filter: Partial<LiveFilter>): readonly number[] =>
    (view.pending ?? []).filter((job) => keepsPending({ ...NO_FILTER, ...filter }, job)).map(({ job }) => job);

  it('knows job, owner, project and words', () => {
    assert.deepEqual(pending({}), [201, 202]);
    assert.deepEqual(pending({ job: ['201'] }), [201]);
    assert.deepEqual(pending({ job: ['201.100'] }), [201]);
    assert.deepEqual(pending({ job: ['20?.*'] }), [201, 202]);
    assert.deepEqual(pending({ job: ['201.101', '202.1', '201.x'] }), []);
    assert.deepEqual(pending({ owner: ['dave'] }), [202]);
    assert.deepEqual(pending({ project: ['NONE'], any: ['dav'] }), [202]);
  });

  it('has no host and no queue yet', () => {
    assert.deepEqual(pending({ host: ['*'] }), []);
    assert.deepEqual(pending({ queue: ['*'] }), []);
  });
});

describe('filterHosts', () => {
  const hosts = (filter: Partial<LiveFilter>): readonly (readonly [string, number])[] =>
    filterHosts({ ...NO_FILTER, ...filter }, view).map(({ name, parts }) => [name, parts.length] as const);

  it('leaves hosts whole unless jobs are asked for', () => {
    assert.deepEqual(hosts({ host: ['node01'] }), [['node01', 5]]);
    assert.equal(hosts({}).length, 4);
  });

  it('keeps hosts with a job that is asked for, and only that job', () => {
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

it('bears jobs without hosts', () => {
  const nowhere = { ...oneJob(1), parts: [] };
  assert.equal(keepsJob({ ...NO_FILTER, host: ['*'] }, nowhere), false);
  assert.equal(keepsJob({ ...NO_FILTER, owner: ['alice'] }, nowhere), true);
  const waiting: readonly PendingView[] = view.pending ?? [];
  assert.equal(waiting.length, 2);
});
