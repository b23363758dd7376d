import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { packageRoot } from '../../../src/base/package-root';
import type { JobDetail, SchedulerReason } from '../../../src/gridengine/qstat/job-detail';
import { readJobDetails } from '../../../src/gridengine/qstat/read-job-details';
import type { AnswerEnd } from '../../../src/gridengine/reading';
import { anySizes, feed, garbage } from '../feed';

const fixture = (name: string): Buffer => readFileSync(join(packageRoot(), 'test', 'gridengine', 'fixtures', name));

interface Read {
  readonly jobs: readonly JobDetail[];
  readonly reasons: readonly SchedulerReason[];
  readonly end: AnswerEnd;
}

function read(answer: string | Uint8Array, sizes?: readonly number[]): Read {
  const reasons: SchedulerReason[] = [];
  const { items, end } = feed<JobDetail>(
    (onJob) => readJobDetails(onJob, (reason) => reasons.push(reason)),
    answer,
    sizes,
  );
  return { jobs: items, reasons, end };
}

const usage = (entries: Readonly<Record<string, number>>): ReadonlyMap<string, number> =>
  new Map(Object.entries(entries));

const bare: JobDetail = {
  job: 0,
  name: '',
  owner: '',
  uid: '',
  group: null,
  project: null,
  department: null,
  account: null,
  submittedAt: null,
  notBefore: null,
  reservation: null,
  submitCommand: null,
  wantsMail: false,
  predecessors: [],
  taskPredecessors: [],
  requests: [],
  pe: null,
  array: false,
  tasks: [],
  messages: [],
};

const complete = (dialect: AnswerEnd['dialect']): AnswerEnd => ({
  state: 'complete',
  said: null,
  dialect,
  unknownJobs: [],
});

describe('readJobDetails', () => {
  it('finds the wish for a mail in the job context qmemacct=mail alone, exactly so written', () => {
    const pairs = (list: string, all: readonly (readonly [string, string])[]): string =>
      `<${list}>${all.map(([name, value]) => `<x><VA_variable>${name}</VA_variable><VA_value>${value}</VA_value></x>`).join('')}</${list}>`;
    const wants = (...lists: readonly string[]): boolean | undefined =>
      read(
        `<detailed_job_info><djob_info><element><JB_job_number>7</JB_job_number>${lists.join('')}</element></djob_info></detailed_job_info>`,
      ).jobs[0]?.wantsMail;
    const mailContext = [['qmemacct', 'mail']] as const;
    assert.equal(wants(pairs('JB_context', [['other', 'x'], ...mailContext])), true);
    assert.equal(wants(pairs('JB_env_list', mailContext)), false);
    assert.equal(wants(pairs('JB_context', [['k', 'v']]), pairs('JB_env_list', mailContext)), false);
    for (const value of ['', 'MAIL', 'mail ', 'mail\nbob@x.org', 'off', 'mail;id', '&lt;b&gt;mail'])
      assert.equal(wants(pairs('JB_context', [['qmemacct', value]])), false, value);
    assert.equal(
      wants(
        pairs('JB_context', [
          ['x-qmemacct', 'mail'],
          ['mail', 'qmemacct'],
        ]),
      ),
      false,
    );
  });

  it('reads the advance reservation of a job; 0: it has none', () => {
    const reservation = (text: string): number | null | undefined =>
      read(
        `<detailed_job_info><djob_info><element><JB_job_number>7</JB_job_number>${text}</element></djob_info></detailed_job_info>`,
      ).jobs[0]?.reservation;
    assert.deepEqual(['<JB_ar>2</JB_ar>', '<JB_ar>0</JB_ar>', ''].map(reservation), [2, null, null]);
  });

  it('tells jobs that must end first from array jobs of which the same task must', () => {
    const list = (name: string, ...jobs: readonly number[]): string =>
      `<${name}>${jobs.map((job) => `<job_predecessors><JRE_job_number>${job}</JRE_job_number></job_predecessors>`).join('')}</${name}>`;
    const lists = list('JB_jid_predecessor_list', 85, 86) + list('JB_ja_ad_predecessor_list', 87);
    const [job] = read(
      `<detailed_job_info><djob_info><element><JB_job_number>90</JB_job_number>${lists}</element></djob_info></detailed_job_info>`,
    ).jobs;
    assert.deepEqual([job?.predecessors, job?.taskPredecessors], [[85, 86], [87]]);
  });

  it('reads named wrapper elements, control characters in the environment and reasons after the jobs', () => {
    const { jobs, reasons, end } = read(fixture('ugecore-8.0/jobs.qstat-j.xml'));
    assert.deepEqual(jobs, [
      {
        ...bare,
        job: 7001,
        name: 'relax<1>',
        owner: 'carol',
        uid: '1501',
        group: 'chem',
        project: 'dft',
        account: 'sge',
        submittedAt: 1_700_000_000_000,
        requests: [
          { complex: 'h_vmem', value: '16G', kind: 'hard', amount: 16 * 1024 ** 3, consumable: 1 },
          { complex: 'hostname', value: 'n1*', kind: 'hard', amount: null },
          { complex: 'mem_free', value: '2G', kind: 'soft', amount: 2 * 1024 ** 3 },
        ],
        pe: 'shm',
        tasks: [
          {
            task: 1,
            status: 128,
            startedAt: 1_700_000_100_000,
            usage: usage({ cpu: 12.5, vmem: 217_243_648, maxvmem: 317_243_648 }),
            peTasks: [],
          },
        ],
      },
      {
        ...bare,
        job: 7002,
        name: 'sweep',
        owner: 'dave',
        uid: '1502',
        group: 'chem',
        account: 'sge',
        submittedAt: 1_700_000_001_000,
        array: true,
        tasks: [
          { task: 3, status: 65_536, startedAt: null, usage: usage({}), peTasks: [] },
          {
            task: 5,
            status: 128,
            startedAt: 1_700_000_200_000,
            usage: usage({ maxvmem: 1_048_576 }),
            peTasks: [],
          },
        ],
        messages: [`11/14/2023 22:13:21 [1502:99]: error: can't open output file "/gone/o"`],
      },
    ]);
    assert.deepEqual(reasons, [
      { text: 'Job is in error state', jobs: [7002, 7003] },
      { text: 'queue instance "all.q@n7" dropped because it is full', jobs: [] },
    ]);
    assert.deepEqual(end, complete('univa'));
  });

  it('reads jobs without wrapper elements: the next number begins the next job', () => {
    const { jobs, reasons, end } = read(fixture('ogs-2011/jobs.qstat-j.xml'));
    assert.deepEqual(
      jobs.map(({ job, name, owner, array }) => ({ job, name, owner, array })),
      [
        { job: 8101, name: 'desktop', owner: 'erin', array: false },
        { job: 8102, name: 'after', owner: 'frank', array: false },
      ],
    );
    assert.deepEqual(jobs[0]?.tasks, [
      {
        task: 1,
        status: 128,
        startedAt: null,
        usage: usage({ cpu: 22.54, vmem: 5_044_887_552, maxvmem: 5_298_225_152 }),
        peTasks: [],
      },
    ]);
    assert.deepEqual(reasons, [{ text: '(Collecting of scheduler job information is turned off)', jobs: [] }]);
    assert.deepEqual(end, complete('ogs'));
  });

  it('reads lists without wrapper elements: a number begins a task, a name a request, an id a PE task', () => {
    const { jobs, end } = read(fixture('univa-8.6/jobs.qstat-j.xml'));
    assert.deepEqual(jobs, [
      {
        ...bare,
        job: 9201,
        name: 'notebook',
        owner: 'grace',
        uid: '3001',
        group: 'bio',
        project: 'shared',
        department: 'defaultdepartment',
        account: 'sge',
        submittedAt: 1_592_928_409_331,
        requests: [
          { complex: 'h_rt', value: '14400', kind: 'hard', amount: 14_400 },
          { complex: 'h_vmem', value: 'INFINITY', kind: 'hard', amount: Infinity },
        ],
        pe: 'sm',
        array: true,
        tasks: [
          {
            task: 1,
            status: 128,
            startedAt: 1_592_928_425_042,
            usage: usage({ cpu: 0.69, maxvmem: 57_413_632, memrss: 0.25 }),
            peTasks: [
              { id: '1.c20', host: 'c20.example.org', past: false, usage: usage({ maxvmem: 2 }) },
              { id: '2.c20', host: 'c20', past: false, usage: usage({ maxvmem: 3 }) },
            ],
          },
          { task: 2, status: 128, startedAt: 1_592_928_426_000, usage: usage({}), peTasks: [] },
        ],
      },
      { ...bare, job: 9202, name: 'second', owner: 'heidi', uid: '3002' },
    ]);
    assert.deepEqual(end, complete('univa'));
  });

  it('reads elements without a name and the request sets of Open Cluster Scheduler', () => {
    const { jobs, end } = read(fixture('ocs-9.1/jobs.qstat-j.xml'));
    assert.deepEqual(jobs[0]?.requests, [
      { complex: 'h_vmem', value: '1G', kind: 'hard', amount: 1024 ** 3 },
      { complex: 'h_vmem', value: '4G', kind: 'hard', scope: 'master', amount: 4 * 1024 ** 3 },
      { complex: 'exclusive', value: 'TRUE', kind: 'soft', scope: 'slave', amount: 1 },
    ]);
    assert.equal(jobs[0].submittedAt, 1_774_720_000_123);
    assert.equal(jobs[0].tasks[0]?.startedAt, 1_774_720_001_000);
    assert.deepEqual(jobs[0].tasks[0].usage, usage({ wallclock: 60, rss: 1_000_000, maxrss: 2_000_000 }));
    assert.deepEqual(end, complete('ocs'));
  });

  it('hands each job over before it reads the next, but not a job that is cut', () => {
    const text = fixture('ugecore-8.0/jobs.qstat-j.xml').toString('latin1');
    const second = text.indexOf('<JB_job_number>7002');
    const early: number[] = [];
    const reader = readJobDetails((job) => early.push(job.job));
    reader.write(Buffer.from(text.slice(0, second + 40), 'latin1'));
    assert.deepEqual(early, [7001]);
    assert.equal(reader.end().state, 'truncated');
    assert.deepEqual(early, [7001]);
  });

  it('lists the job ids that Grid Engine does not know', () => {
    assert.deepEqual(read(fixture('sge-6.2/unknown.qstat-j.xml')).end, {
      ...complete('sge6.2'),
      unknownJobs: ['12', '13'],
    });
  });

  const samples = [
    'ugecore-8.0/jobs.qstat-j.xml',
    'ogs-2011/jobs.qstat-j.xml',
    'univa-8.6/jobs.qstat-j.xml',
    'ocs-9.1/jobs.qstat-j.xml',
    'sge-6.2/unknown.qstat-j.xml',
  ].map(fixture);

  it('reads the same jobs wherever the answer is cut into pieces', () => {
    for (const sample of samples) {
      const whole = read(sample);
      assert.deepEqual(read(sample, [1]), whole);
      fc.assert(
        fc.property(anySizes, (sizes) => assert.deepEqual(read(sample, sizes), whole)),
        { numRuns: 15 },
      );
    }
  });

  it('reads valid ids and figures from truncated, damaged or foreign answers', () => {
    const states = new Set(['complete', 'truncated', 'empty', 'refused', 'foreign']);
    const damaged = fc
      .record({
        sample: fc.constantFrom(...samples),
        from: fc.double({ min: 0, max: 1, noNaN: true }),
        lost: fc.nat(400),
        put: fc.uint8Array({ maxLength: 20 }),
      })
      .map(({ sample, from, lost, put }) => {
        const at = Math.floor(sample.length * from);
        return Buffer.concat([sample.subarray(0, at), put, sample.subarray(at + lost)]);
      });
    const words = [
      '<detailed_job_info>',
      '<djob_info>',
      '<JB_job_number>1</JB_job_number>',
      '<JB_ja_tasks>',
      '<JAT_status>',
    ];
    const more = [
      '<UA_value>1',
      '<PET_id>',
      '</JAT_task_list>',
      '{"jobs":[',
      '{"job_number":1',
      '}',
      ']',
      '"array_tasks":[',
    ];
    fc.assert(
      fc.property(fc.oneof(damaged, garbage([...words, ...more])), (bytes) => {
        const { jobs, end } = read(bytes);
        assert.ok(states.has(end.state));
        for (const { job, tasks } of jobs) {
          assert.ok(Number.isSafeInteger(job) && job > 0);
          for (const { usage: own } of tasks) for (const value of own.values()) assert.ok(!Number.isNaN(value));
        }
      }),
      { numRuns: 300 },
    );
  });
});
