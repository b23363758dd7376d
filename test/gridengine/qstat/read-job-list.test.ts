import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import fc from 'fast-check';

import type { ListedJob, RequestText } from '../../../src/gridengine/qstat/job-list';
import { readJobList } from '../../../src/gridengine/qstat/read-job-list';
import { anySizes, feed, garbage } from '../feed';
import { occurrences, recorded } from '../recorded';
import { empty62, full819, list60, list819, listOcsXml, listUniva } from './job-list-samples';
import { renderJobList } from './render-job-list';

function jobsOf(answer: string | Uint8Array) {
  const { items, end } = feed(readJobList, answer);
  assert.equal(end.state, 'complete');
  return items;
}

const local = (...parts: [number, number, number, number, number, number, number?]) => new Date(...parts).getTime();

describe('readJobList', () => {
  it('reads qstat -r -ext -urg of 8.1.9', () => {
    const [parallel, task, waiting, ...more] = jobsOf(list819);
    assert.deepEqual(more, []);
    assert.deepEqual(parallel, {
      job: 103,
      tasks: null,
      name: 'weird<&">x',
      owner: 'bob',
      project: 'climate',
      department: 'defaultdepartment',
      state: 'r',
      list: 'running',
      priority: 0.555,
      startedAt: local(2026, 10, 21, 10, 7, 58),
      submittedAt: null,
      queueInstance: 'all.q@node01',
      role: '',
      slots: 4,
      requests: [
        { complex: 'h_vmem', value: '3G', kind: 'hard' },
        { complex: 'h_rt', value: '3600', kind: 'hard' },
        { complex: 'mem_free', value: '1G', kind: 'soft' },
      ],
      requestedPe: 'mpi',
      requestedSlots: '2-8',
      grantedPe: 'mpi',
      cpuSeconds: 123_000,
      memoryGbSeconds: 1234.56789,
      ioGb: 0,
    });
    assert.deepEqual([task?.tasks, task?.state, task?.project], ['3', 'dr', null]);
    assert.deepEqual(task?.requests, [{ complex: 'h_vmem', value: '1G', kind: 'default' }]);
    assert.deepEqual([waiting?.list, waiting?.tasks, waiting?.queueInstance], ['pending', '1-5:2,8', null]);
    assert.deepEqual([waiting?.startedAt, waiting?.submittedAt], [null, local(2026, 10, 21, 10, 0, 0)]);
  });

  it('takes the queue instance of qstat -f from the element around the jobs, and leaves out the sub-tasks of -t', () => {
    const rows = jobsOf(full819);
    assert.deepEqual(
      rows.map(({ job, queueInstance, state, role }) => [job, queueInstance, state, role]),
      [
        [11, 'all.q@node01', 'r', 'MASTER'],
        [11, 'long.q@node03', 'r', 'SLAVE'],
        [12, null, 'qw', ''],
      ],
    );
    assert.equal(rows[0]?.cpuSeconds, null);
  });

  it('reads 6.0, whose tags are in another order', () => {
    const [job] = jobsOf(list60);
    assert.deepEqual([job?.job, job?.name, job?.owner, job?.tasks], [9, 'old', 'dave', '1-12001']);
    assert.equal(job?.submittedAt, local(2006, 2, 1, 9, 30, 15));
  });

  it('reads Univa', () => {
    const [job] = jobsOf(listUniva);
    assert.equal(job?.startedAt, local(2020, 1, 29, 23, 59, 59, 230));
    assert.equal(job.queueInstance, 'q@h');
  });

  it('reads the XML of OCS, whose requests have scopes', () => {
    const [running, waiting] = jobsOf(listOcsXml);
    assert.equal(running?.startedAt, local(2024, 5, 28, 11, 59, 43, 834));
    assert.deepEqual(running.requests, [
      { complex: 'h_vmem', value: '4G', kind: 'hard', scope: 'master' },
      { complex: 'h_vmem', value: '1G', kind: 'hard', scope: 'slave' },
    ]);
    assert.equal(waiting?.submittedAt, local(2024, 5, 28, 11, 59, 40));
  });

  it('recognises the dialect, and reads an empty list as a complete answer', () => {
    const dialects = [list819, list60, listUniva, listOcsXml, empty62].map(
      (answer) => feed(readJobList, answer).end.dialect,
    );
    assert.deepEqual(dialects, ['sge8.1.9', 'sge6.2', 'univa', 'ocs', 'sge6.2']);
    assert.deepEqual(feed(readJobList, empty62), {
      items: [],
      end: { state: 'complete', said: null, dialect: 'sge6.2', unknownJobs: [] },
    });
  });

  it('reads names in Latin-1 and UTF-8, and control characters, in one answer', () => {
    const latin = Buffer.from(list60.replace('>old<', '>caf\u00e9\u001b<'), 'latin1');
    const [first, second] = jobsOf(Buffer.concat([latin.subarray(0, latin.indexOf('  </job_info>')), utf8Tail()]));
    assert.equal(first?.name, 'caf\u00e9\u001b');
    assert.equal(second?.name, 'caf\u00e9');
  });

  it('leaves out a row that is cut', () => {
    const { items, end } = feed(readJobList, list819.slice(0, list819.indexOf('full_job_name')));
    assert.deepEqual([end.state, items.length], ['truncated', 0]);
    const rest = feed(readJobList, list819.slice(0, list819.indexOf('later')));
    assert.deepEqual([rest.end.state, rest.items.length], ['truncated', 2]);
    const inner = feed(readJobList, list819.slice(0, list819.lastIndexOf('</job_info>')));
    assert.deepEqual([inner.end.state, inner.items.length], ['truncated', 3]);
  });

  it('reads the recorded answers of a live cell of 8.1.9', () => {
    for (const name of [
      'idle.qstat-rs',
      'busy.qstat-rs',
      'busy.qstat-r',
      'busy.qstat-f-F',
      'busy.qstat-g-t',
      'busy.qstat-g-d',
    ]) {
      const answer = recorded('8.1.9', name);
      const { items, end } = feed(readJobList, answer);
      assert.deepEqual(end, { state: 'complete', said: null, dialect: 'sge8.1.9', unknownJobs: [] }, name);
      assert.equal(items.length, occurrences(answer, '<job_list '), name);
      for (const { job, name: title, owner, slots, list, queueInstance, startedAt, submittedAt } of items) {
        assert.ok(title !== '' && owner !== '' && slots !== null, `${name} ${job}`);
        const runs = list === 'running';
        assert.deepEqual([queueInstance !== null, startedAt !== null, submittedAt !== null], [runs, runs, !runs]);
      }
    }
  });

  it('finds requests, defaults and tasks in the recorded answers', () => {
    const running = jobsOf(recorded('8.1.9', 'busy.qstat-rs'));
    const row = (job: number) => running.find((one) => one.job === job);
    assert.deepEqual(row(1)?.requests, [{ complex: 'h_vmem', value: '500M', kind: 'hard' }]);
    assert.deepEqual([row(2)?.requestedPe, row(2)?.grantedPe, row(2)?.slots], ['tight-first', 'tight-first', 4]);
    assert.deepEqual(row(5)?.requests, [
      { complex: 'h_vmem', value: '1G', kind: 'default' },
      { complex: 'mem_free', value: '1G', kind: 'soft' },
      { complex: 'hostname', value: 'ge1', kind: 'soft' },
    ]);
    assert.deepEqual([row(1)?.cpuSeconds, row(1)?.memoryGbSeconds, row(1)?.ioGb], [0, 0.00111, 0.00112]);
    const all = jobsOf(recorded('8.1.9', 'busy.qstat-r'));
    assert.deepEqual(
      all.filter(({ job }) => job === 4 || job === 8).map(({ name, tasks, state }) => [name, tasks, state]),
      [
        ['array', '1', 'r'],
        ['array', '3', 'r'],
        ['array', '5-9:2', 'qw'],
        ['weird<&">x', null, 'hqw'],
      ],
    );
  });

  it('says why there is no list', () => {
    const stateOf = (answer: string | Uint8Array) => {
      const { end, items } = feed(readJobList, answer);
      assert.deepEqual(items, []);
      return [end.state, end.said];
    };
    assert.deepEqual(stateOf(recorded('8.1.9', 'master-down.qstat-rs')), ['empty', null]);
    assert.deepEqual(stateOf(recorded('8.1.9', 'denied.qstat-j')), [
      'refused',
      'denied: host "ge2" is neither submit nor admin host',
    ]);
    assert.deepEqual(stateOf(recorded('8.1.9', 'master-down.qstat-j')), [
      'refused',
      'unable to send message to qmaster using port 6444 on host "ge0": got send error',
    ]);
    const refused = 'error: commlib error: got select error (Connection refused)';
    assert.deepEqual(stateOf(`${refused}\nerror: unable to send message to qmaster\n`), ['refused', refused]);
    assert.deepEqual(stateOf('Job id  Name\n1.server  x\n'), ['foreign', 'Job id  Name']);
    const { end } = feed(readJobList, recorded('8.1.9', 'busy.qstat-j-unknown'));
    assert.deepEqual([end.state, end.unknownJobs], ['complete', ['999999']]);
  });

  it('reads the same jobs wherever the answer is cut into pieces', () => {
    for (const answer of [list819, full819, listOcsXml]) {
      const whole = feed(readJobList, answer);
      fc.assert(
        fc.property(anySizes, (sizes) => assert.deepEqual(feed(readJobList, answer, sizes), whole)),
        { numRuns: 25 },
      );
    }
  });

  it('reads back jobs as 8.1.9 and OCS print them', () => {
    const dialects = fc.constantFrom('sge' as const, 'full' as const, 'ocs' as const);
    fc.assert(
      fc.property(fc.array(anyRow, { maxLength: 5 }), dialects, (rows, dialect) => {
        const jobs = [...rows].sort((a, b) => Number(b.list === 'running') - Number(a.list === 'running'));
        const { items, end } = feed(readJobList, renderJobList(jobs, dialect));
        assert.equal(end.state, 'complete');
        assert.deepEqual(items, jobs);
      }),
      { numRuns: 100 },
    );
  });

  it('reads valid figures or nulls from garbage', () => {
    const xml = [
      '<job_info>',
      '</job_info>',
      '<job_list state="running">',
      '</job_list>',
      '<JB_job_number>',
      '</JB_job_number>',
    ];
    const more = ['<slots>', '</slots>', '<Queue-List>', '</name>', '<', '7'];
    fc.assert(
      fc.property(garbage([...xml, ...more]), anySizes, (answer, sizes) => {
        for (const { job, slots, startedAt } of feed(readJobList, answer, sizes).items) {
          assert.ok(Number.isSafeInteger(job) && job > 0);
          assert.ok(slots === null || (Number.isSafeInteger(slots) && slots >= 0));
          assert.ok(startedAt === null || startedAt > 0);
        }
      }),
      { numRuns: 300 },
    );
  });
});

function utf8Tail(): Buffer {
  const list = list60.slice(list60.indexOf('    <job_list'));
  return Buffer.from(list.replace('>old<', '>caf\u00e9<'));
}

const plain = { noNullPrototype: true };
const anyText = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 14 })
  .filter((text) => text.trim() === text && !text.includes('%'));
const word = fc.stringMatching(/^[a-z][a-z0-9_.]{0,8}$/);
/** Not in the hour that comes twice when summer time ends: its second pass can't be told from its first. */
const time = fc.option(
  fc
    .integer({ min: 1_000_000_000, max: 2_000_000_000 })
    .map((seconds) => seconds * 1000)
    .filter((ms) => {
      const hourBefore = new Date(ms - 3_600_000);
      return new Date(ms).getHours() !== hourBefore.getHours();
    }),
);
const figure = fc.option(fc.nat(1e9).map((thousandths) => thousandths / 1000));

const anyRequest: fc.Arbitrary<RequestText> = fc.oneof(
  fc.record({ complex: word, value: anyText, kind: fc.constantFrom('hard' as const, 'soft' as const) }, plain),
  fc.record({ complex: word, value: anyText, kind: fc.constant('default' as const) }, plain),
  fc.record(
    {
      complex: word,
      value: anyText,
      kind: fc.constantFrom('hard' as const, 'soft' as const),
      scope: fc.constantFrom('master' as const, 'slave' as const),
    },
    plain,
  ),
);

const anyRow: fc.Arbitrary<ListedJob> = fc
  .record(
    {
      job: fc.integer({ min: 1, max: 0xffff_ffff }),
      tasks: fc.option(fc.constantFrom('3', '1-100:1', '1-5:2,8', '2,4,6-9:3')),
      name: anyText,
      owner: anyText,
      project: fc.option(word),
      department: fc.option(word),
      state: fc.constantFrom('r', 'qw', 'hqw', 'Eqw', 'dr', 't', 'hRwq'),
      list: fc.constantFrom('running', 'pending'),
      priority: fc.nat(100_000).map((value) => value / 1e5),
      startedAt: time,
      submittedAt: time,
      queueInstance: word.map((host) => `all.q@${host}`),
      role: fc.constantFrom('MASTER' as const, 'SLAVE' as const, '' as const),
      slots: fc.nat(4096),
      requests: fc.array(anyRequest, { maxLength: 3 }),
      requestedPe: fc.option(word),
      requestedSlots: fc.constantFrom('4', '2-8', '3,4'),
      grantedPe: fc.option(word),
      cpuSeconds: figure,
      memoryGbSeconds: figure,
      ioGb: figure,
    },
    plain,
  )
  .map((row) => ({
    ...row,
    queueInstance: row.list === 'running' ? row.queueInstance : null,
    requestedSlots: row.requestedPe === null ? null : row.requestedSlots,
  }));
