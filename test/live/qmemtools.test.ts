import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { qhostAnswer, qmemAnswerText, qstatAnswer, type QmemAnswer } from '../../src/live/qmemtools';
import type { JobRecord } from '../../src/record/record';
import type { Snapshot } from '../../src/live/snapshot';
import { viewCluster, type ViewOptions } from '../../src/live/view';
import { anySnapshot } from './arbitrary-snapshot';
import {
  answer,
  AT,
  byDefault,
  detail,
  downHost,
  GIB,
  hard,
  host,
  HOSTILE_OWNER,
  listed,
  noAnswer,
  pastUsage,
  peRows,
  peTask,
  row,
  sampleSnapshot,
  snapshot,
  soft,
  taskDetail,
  usage,
  waiting,
  workedExample,
} from './snapshots';
import { RequestRules, USUAL_RULES } from '../../src/record/request-rules';
import { DEFAULT_SETTINGS } from '../../src/record/settings';

interface QhostJson {
  readonly success: boolean;
  readonly message: string;
  readonly data: Record<
    string,
    {
      readonly num_proc: string;
      readonly mem_total: string;
      readonly jobs: Record<
        string,
        {
          readonly jobcount: number;
          readonly master: boolean;
          readonly taskid: readonly string[];
          readonly jobname: string;
          readonly owner: string;
        }
      >;
    }
  >;
}

interface QstatJson {
  readonly success: boolean;
  readonly message: string;
  readonly data: Record<
    string,
    {
      readonly uid: string;
      readonly jobs: Record<
        string,
        {
          readonly requested_h_vmem_strval: string;
          readonly requested_h_vmem_dblval: number;
          readonly hostname: Record<string, Record<string, string>>;
        }
      >;
    }
  >;
}

const options: ViewOptions = { rules: USUAL_RULES, nowMs: AT };

function answersOf(
  given: Snapshot,
  changes: Partial<ViewOptions> = {},
  records: readonly JobRecord[] = [],
): { readonly qhost: QmemAnswer; readonly qstat: QmemAnswer } {
  const view = viewCluster(given, records, { ...options, ...changes });
  return { qhost: qhostAnswer(given, view, AT), qstat: qstatAnswer(given, view, AT) };
}

const qhostOf = (given: Snapshot): QhostJson => JSON.parse(qmemAnswerText(answersOf(given).qhost)) as QhostJson;
const qstatOf = (given: Snapshot): QstatJson => JSON.parse(qmemAnswerText(answersOf(given).qstat)) as QstatJson;

const QHOST = `{"success":true,"message":"","data":{
 "node01":{"num_proc":"16","mem_total":"62.8G","jobs":{
  "101":{"jobcount":1,"master":true,"taskid":[],"jobname":"serial","owner":"alice"},
  "102":{"jobcount":1,"master":true,"taskid":["1","2"],"jobname":"arr","owner":"alice"},
  "103":{"jobcount":2,"master":true,"taskid":[],"jobname":"mpi","owner":"bob"}}},
 "node02":{"num_proc":"16","mem_total":"62.8G","jobs":{
  "102":{"jobcount":1,"master":true,"taskid":["3"],"jobname":"arr","owner":"alice"},
  "103":{"jobcount":2,"master":false,"taskid":[],"jobname":"mpi","owner":"bob"}}}}}`;

/** As QmemTools answers, except that the two tasks of 103 on node02 are summed: 1.25 GiB, not the last one's 0.5. */
const QSTAT = `{"success":true,"message":"","data":{
 "alice":{"uid":"1001","jobs":{
  "101":{"requested_h_vmem_strval":"4G","requested_h_vmem_dblval":4294967296.0,
         "hostname":{"node01":{"master":"1610612736.000000"}}},
  "102":{"requested_h_vmem_strval":"2G","requested_h_vmem_dblval":2147483648.0,
         "hostname":{"node01":{"1":"1073741824.000000","2":"536870912.000000"},"node02":{"3":"268435456.000000"}}}}},
 "bob":{"uid":"1002","jobs":{"103":{"requested_h_vmem_strval":"3G","requested_h_vmem_dblval":3221225472.0,
         "hostname":{"node01":{"master":"2147483648.000000","slave":"1073741824.000000"},
                     "node02":{"slave":"1342177280.000000"}}}}}}}`;

const compact = (text: string): string => text.replace(/\s+/g, '');

/** A parallel job of alice on node01 (master) and node02. */
function parallel(
  slots: readonly [number, number],
  rows: readonly [number, number],
  peTasks: Parameters<typeof taskDetail>[1] = {},
): Snapshot {
  return snapshot({
    hosts: answer([
      host('node01', { jobs: peRows(7, true, rows[0] - 1) }),
      host('node02', { jobs: peRows(7, false, rows[1]) }),
    ]),
    running: answer([
      listed(7, 'all.q@node01', { slots: slots[0] + slots[1], grantedPe: 'mpi', requests: [hard('1G')] }),
    ]),
    details: answer([detail(7, [taskDetail(usage(1), peTasks)], { pe: 'mpi' })]),
  });
}

describe('the answers of QmemTools', () => {
  it('are those of the worked example, to the byte', () => {
    const { qhost, qstat } = answersOf(workedExample());
    assert.equal(qmemAnswerText(qhost), compact(QHOST));
    assert.equal(qmemAnswerText(qstat), compact(QSTAT));
  });

  it("have QmemTools' message where there is no data", () => {
    const { qhost, qstat } = answersOf(snapshot());
    assert.equal(qmemAnswerText(qhost), '{"success":false,"message":"No data for qhost","data":{}}');
    assert.equal(qmemAnswerText(qstat), '{"success":false,"message":"No data for qstat","data":{}}');
  });

  it('leave out the pseudo host "global"', () => {
    const hosts = answer([downHost('global'), host('node01')]);
    assert.deepEqual(Object.keys(qhostOf(snapshot({ hosts })).data), ['node01']);
  });

  it('print numbers as Grid Engine and Python do', () => {
    const request = (value: string, bytes: number): unknown =>
      /"requested_h_vmem_dblval":([^,]*)/.exec(
        qmemAnswerText(
          answersOf(
            snapshot({
              running: answer([listed(1, 'a@b')]),
              details: answer([detail(1, [], { requests: [{ ...hard(value), amount: bytes }] })]),
            }),
          ).qstat,
        ),
      )?.[1];
    assert.equal(request('1', 1), '1.0');
    assert.equal(request('1e22', 1e22), '1e+22');
    assert.equal(request('INFINITY', Infinity), '0.0');
  });
});

describe('the faults of QmemTools, repaired', () => {
  it('1: a running job without h_vmem, which ended the refresh, has an empty request', () => {
    const given = snapshot({
      hosts: answer([host('node01', { jobs: [row(1)] })]),
      running: answer([listed(1, 'all.q@node01')]),
      details: answer([detail(1, [taskDetail(usage(1))])]),
    });
    assert.deepEqual(qstatOf(given).data.alice?.jobs['1'], {
      requested_h_vmem_strval: '',
      requested_h_vmem_dblval: 0,
      hostname: { node01: { master: '1073741824.000000' } },
    });
  });

  it('1: a parallel job that has not reported, which ended the refresh, has empty values', () => {
    const given = { ...parallel([2, 2], [2, 2]), details: answer([detail(7, [taskDetail(new Map())])]) };
    assert.deepEqual(qstatOf(given).data.alice?.jobs['7']?.hostname, {
      node01: { master: '' },
      node02: { slave: '' },
    });
  });

  it('1: a host without num_proc, which ended the refresh, has a dash', () => {
    const given = snapshot({ hosts: answer([host('node01', { processors: null, processorsText: '-' })]) });
    assert.equal(qhostOf(given).data.node01?.num_proc, '-');
  });

  it('2: a request before the first refresh, which hung the server, gets the reason', () => {
    const early = snapshot({ hosts: noAnswer([]), running: noAnswer([]), details: noAnswer([]) });
    for (const { success, message, data } of [qhostOf(early), qstatOf(early)]) {
      assert.equal(success, false);
      assert.match(message, /^No data for (qhost|qstat): nothing has been asked of qmaster yet/);
      assert.deepEqual(data, {});
    }
    const problem = "qmaster on ge1 can't be reached: start sge_qmaster";
    const failed = snapshot({ hosts: noAnswer([], problem), running: noAnswer([], problem), details: noAnswer([]) });
    assert.equal(qhostOf(failed).message, `No data for qhost: ${problem}`);
    assert.equal(qstatOf(failed).message, `No data for qstat: ${problem}`);
  });

  it('2: a failing qmaster is reported with the age of the last good data, which stays', () => {
    const given = workedExample();
    const failed = { ...given, running: answer(given.running.value, { at: AT - 90_000, problem: 'timed out' }) };
    const { success, message, data } = qstatOf(failed);
    assert.deepEqual([success, message], [false, 'timed out; the data is 90 s old']);
    assert.deepEqual(data, (JSON.parse(QSTAT) as QstatJson).data);
  });

  it('3: a task without a figure no longer shifts values to the wrong host', () => {
    const given = parallel([2, 2], [2, 2], {
      peTasks: [peTask('1.node01', new Map()), peTask('1.node02', usage(0.5))],
    });
    assert.deepEqual(qstatOf(given).data.alice?.jobs['7']?.hostname, {
      node01: { master: '1073741824.000000' },
      node02: { slave: '536870912.000000' },
    });
  });

  it('3: several tasks on one host, which overwrote each other, are summed', () => {
    const given = parallel([2, 2], [2, 2], {
      peTasks: [peTask('1.node02', usage(0.75)), peTask('2.node02', usage(0.5))],
    });
    assert.equal(qstatOf(given).data.alice?.jobs['7']?.hostname.node02?.slave, '1342177280.000000');
  });

  it("3: ended tasks, which were lost, are counted on the master's host by past_usage", () => {
    const given = parallel([2, 2], [2, 2], { peTasks: [pastUsage(usage(2)), peTask('9.node01', usage(0.5))] });
    assert.deepEqual(qstatOf(given).data.alice?.jobs['7']?.hostname, {
      node01: { master: '1073741824.000000', slave: '2684354560.000000' },
      node02: { slave: '' },
    });
  });

  it('4: jobcount is right for job_is_first_task TRUE over several hosts', () => {
    const { data } = qhostOf(parallel([2, 2], [2, 2]));
    assert.deepEqual([data.node01?.jobs['7']?.jobcount, data.node02?.jobs['7']?.jobcount], [2, 2]);
  });

  it('4: jobcount is right for a range of slots: it counts the granted ones', () => {
    const first = qhostOf(parallel([3, 2], [3, 2])).data;
    assert.deepEqual([first.node01?.jobs['7']?.jobcount, first.node02?.jobs['7']?.jobcount], [3, 2]);
    const own = qhostOf(parallel([3, 2], [4, 2])).data;
    assert.deepEqual([own.node01?.jobs['7']?.jobcount, own.node02?.jobs['7']?.jobcount], [3, 2]);
  });

  it('5: a host with master and slave tasks, which counted twice, counts once', () => {
    const view = viewCluster(workedExample(), [], options);
    const node01 = view.hosts.find(({ name }) => name === 'node01');
    assert.equal(node01?.requested, (4 + 2 + 2 + 2 * 3) * GIB);
    assert.equal(node01.slotsUsed, 5);
  });

  it('5: a consumable of type JOB, which was multiplied by the slots, counts once', () => {
    const view = viewCluster(workedExample(), [], {
      ...options,
      rules: new RequestRules({ ...DEFAULT_SETTINGS, job_complexes: ['h_vmem'] }),
    });
    assert.deepEqual(
      view.hosts.map(({ requested }) => requested),
      [(4 + 2 + 2 + 3) * GIB, 2 * GIB],
    );
  });

  it("5: the complex's default, which was not seen, is the request", () => {
    const given = snapshot({
      hosts: answer([host('node01', { jobs: [row(1)] })]),
      running: answer([listed(1, 'all.q@node01', { requests: [byDefault('512M')] })]),
    });
    const job = qstatOf(given).data.alice?.jobs['1'];
    assert.deepEqual([job?.requested_h_vmem_strval, job?.requested_h_vmem_dblval], ['512M', GIB / 2]);
  });

  it('6: pending jobs, soft requests, other complexes, swap and CPU time are in the view', () => {
    const given = snapshot({
      hosts: answer([host('node01', { jobs: [row(1)] })]),
      running: answer([
        listed(1, 'all.q@node01', { requests: [soft('3G'), hard('2G', 'mem_free'), hard('9G', 'disk')] }),
      ]),
      details: answer([detail(1, [taskDetail(usage(1, 0.5, 77))])]),
      pending: answer([waiting(2, { requests: [hard('8G', 'virtual_free')] })]),
    });
    const view = viewCluster(given, [], options);
    assert.deepEqual(
      view.jobs[0]?.requests.map(({ complex, kind, bytes }) => [complex, kind, bytes]),
      [
        ['h_vmem', 'soft', 3 * GIB],
        ['mem_free', 'hard', 2 * GIB],
      ],
    );
    assert.deepEqual([view.jobs[0].cpuSeconds, view.jobs[0].vmem], [77, GIB / 2]);
    assert.deepEqual([view.hosts[0]?.swapTotal, view.hosts[0]?.load], [8 * GIB, 3.5]);
    assert.deepEqual(view.pending?.[0]?.requests, [
      { complex: 'virtual_free', kind: 'hard', text: '8G', bytes: 8 * GIB },
    ]);
  });

  it('7: a job in one of the two answers, which vanished or crashed the viewer, is in both on the same hosts', () => {
    const given = sampleSnapshot();
    const qhost = qhostOf(given).data;
    const qstat = qstatOf(given).data;
    assert.deepEqual(qstat.erin?.jobs['109'], {
      requested_h_vmem_strval: '',
      requested_h_vmem_dblval: 0,
      hostname: { node02: { master: '' } },
    });
    assert.deepEqual(qhost['node04.example.org']?.jobs['110'], {
      jobcount: 1,
      master: true,
      taskid: [],
      jobname: 'job110',
      owner: 'carol',
    });
    assert.deepEqual(pairsOfQhost(qhost), pairsOfQstat(qstat));
  });

  it('7: a host that is down, which took the capacity of the one before, has dashes and its jobs', () => {
    const { node03 } = qhostOf(sampleSnapshot()).data;
    assert.deepEqual([node03?.num_proc, node03?.mem_total, Object.keys(node03?.jobs ?? {})], ['-', '-', ['108']]);
  });

  it('take hostile names as keys and values', () => {
    const { qstat } = answersOf(sampleSnapshot());
    const text = qmemAnswerText(qstat);
    assert.ok(text.includes(`${JSON.stringify(HOSTILE_OWNER)}:{"uid":"1005"`));
    assert.ok(Object.hasOwn(qstatOf(sampleSnapshot()).data, HOSTILE_OWNER));
  });

  it('name the same jobs on the same hosts, whatever qmaster says', () => {
    fc.assert(
      fc.property(anySnapshot, (given) => {
        const qhost = qhostOf(given);
        const qstat = qstatOf(given);
        for (const { success, message } of [qhost, qstat]) assert.equal(success, message === '');
        if (given.details.problem === null) assert.deepEqual(pairsOfQhost(qhost.data), pairsOfQstat(qstat.data));
      }),
    );
  });
});

function pairsOfQhost(data: QhostJson['data']): readonly string[] {
  return Object.entries(data)
    .flatMap(([name, { jobs }]) => Object.keys(jobs).map((job) => `${job}@${name}`))
    .sort();
}

function pairsOfQstat(data: QstatJson['data']): readonly string[] {
  const pairs = Object.values(data).flatMap(({ jobs }) =>
    Object.entries(jobs).flatMap(([job, { hostname }]) => Object.keys(hostname).map((name) => `${job}@${name}`)),
  );
  return [...new Set(pairs)].sort();
}
