import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { asStored } from '../../../src/record/merge';
import { programsOf } from '../../../src/record/programs';
import type { JobRecord } from '../../../src/record/record';
import { adviseRequest } from '../../../src/report/advice/advice';
import {
  adviseClass,
  classRuns,
  PastKind,
  type ClassAdvice,
  type ClassFields,
} from '../../../src/report/advice/class-advice';
import { classNotes, classObject } from '../../../src/report/advice/class-screen';
import { accountOf } from '../../support/records';
import { BAD_ENDS, modest, tenMinutesOf } from '../bad-ends';
import { needing, pastJobs, stoppedAtLimit } from '../past-jobs';
import { killedAtLimit, mpiMaster, mpiTask, openBracket } from '../sample-records';

const GIB = 1024 ** 3;

const STEPS: ClassFields = {
  owner: 'bob',
  jobName: 'step_99',
  slots: 4,
  pe: 'smp',
  project: null,
  queue: null,
  programs: [],
  cluster: null,
  complex: null,
};

const advise = (
  records: readonly JobRecord[],
  more: { readonly fields?: Partial<ClassFields>; readonly risk?: number; readonly own?: readonly JobRecord[] } = {},
): ClassAdvice => {
  const fields = { ...STEPS, ...more.fields };
  return adviseClass(new PastKind(records.map(asStored), fields.jobName), fields, { risk: 0.01, ...more });
};

/** Jobs that need between 7 and 8 GiB in all, in no order. */
const varying = (index: number): Partial<JobRecord> => needing(7 + ((index * 7) % 10) / 10);

describe('advice on slots', () => {
  const slotAdvice = (records: readonly JobRecord[], slots: number | null = 4): ClassAdvice['slots'] =>
    advise(records, { fields: { slots } }).slots;
  /** Runs of 300 s on four slots. */
  const computing = (busy: number) => (index: number) => ({
    slots: 4,
    host_slots: 4,
    cpu_seconds: 300 * (busy - 0.01 * index),
  });

  it('names as many slots as the busiest run kept busy', () => {
    assert.deepEqual(slotAdvice(pastJobs(10, computing(1.4))), { requested: 4, busiest: 1.4, enough: 2, runs: 10 });
    assert.equal(slotAdvice(pastJobs(10, computing(1.05)))?.enough, 1);
  });

  it('is left out where all slots are busy, where one was requested, or where too few runs are known', () => {
    assert.equal(slotAdvice(pastJobs(10, computing(3.6))), null);
    assert.equal(slotAdvice(pastJobs(10, computing(0.5)), 1), null);
    assert.equal(slotAdvice(pastJobs(10, computing(0.5)), null), null);
    assert.equal(slotAdvice(pastJobs(2, computing(0.5))), null);
    assert.equal(slotAdvice(pastJobs(10, (index) => ({ ...computing(1)(index), host_slots: 2 }))), null);
  });
});

describe('runs by class', () => {
  it('predict once for all jobs of a class, whatever programs these run', () => {
    const past = new PastKind(pastJobs(20, varying).map(asStored), STEPS.jobName);
    const runs = past.memory('h_vmem');
    const classes = classRuns(past, STEPS)[0]?.classes ?? assert.fail();
    const prediction = runs.prediction(classes, 0.01);
    assert.ok(prediction !== null);
    assert.equal(runs.prediction(['of a new program', ...classes], 0.01), prediction);
    assert.equal(past.memory('h_vmem'), runs);
    assert.notEqual(runs.prediction(classes, 0.05), prediction);
  });
});

describe('adviseClass', () => {
  it('names the client of the job itself, else that of the newest run', () => {
    const login = { job_name: 'QLOGIN' };
    const byQrsh = { grid_engine: accountOf({ submit_command: 'qrsh -l h_vmem=8G step_99' }) };
    assert.equal(advise(pastJobs(3, varying)).client, 'qsub');
    assert.equal(
      advise(
        pastJobs(3, () => login),
        { fields: { jobName: 'QLOGIN' } },
      ).client,
      'qlogin',
    );
    assert.equal(advise(pastJobs(3, (index) => (index === 2 ? byQrsh : {}))).client, 'qrsh');
    assert.equal(
      advise(
        pastJobs(3, () => byQrsh),
        { own: [modest] },
      ).client,
      'qsub',
    );
  });

  it('uses runs whose complex holds 0 by default and so sets no limit', () => {
    const unlimited = {
      h_vmem: null,
      requests: { mem_free: { request_bytes: 0, limit_bytes: 0, per: 'slot' } },
    } as const;
    const { memory } = advise(pastJobs(10, (index) => ({ ...varying(index), ...unlimited })));
    assert.deepEqual([memory?.runs, memory?.complex], [10, 'mem_free']);
  });

  it('states a risk, on how many runs it rests and how many predictions held', () => {
    const { memory, time } = advise(pastJobs(60, varying));
    assert.ok(memory !== null && time !== null);
    assert.deepEqual([memory.risk, memory.runs], [0.01, 60]);
    assert.ok(memory.amount >= (7.9 * GIB) / 4 && memory.amount < 3 * GIB, memory.text);
    assert.equal(memory.largest, (7.9 * GIB) / 4);
    assert.ok(memory.predictions > 20 && memory.failed === 0, JSON.stringify(memory));
    assert.ok(time.amount >= 300 && time.amount <= 600, time.text);
  });

  it('counts a prediction that a later run exceeded', () => {
    const { memory } = advise([...pastJobs(40, varying), ...pastJobs(41, () => needing(12)).slice(40)]);
    assert.ok(memory?.risk != null && memory.risk > 0.01, String(memory?.risk));
    assert.deepEqual([memory.failed, memory.largest], [1, 3 * GIB]);
  });

  it('states the risk that few runs allow, and none for two runs', () => {
    const few = advise(pastJobs(4, varying)).memory;
    assert.ok(few?.risk != null && few.risk > 0.01, String(few?.risk));
    const two = advise(pastJobs(2, varying)).memory;
    assert.deepEqual([two?.risk, two?.runs, two?.predictions], [null, 2, 0]);
    assert.ok((two?.amount ?? 0) >= (1.2 * 7.7 * GIB) / 4);
    assert.deepEqual(advise([]), { memory: null, time: null, slots: null, client: 'qsub' });
  });

  it('judges all runs by the complex of the advice', () => {
    const held = openBracket(2 * GIB, null, null);
    const limit = { request_bytes: 16 * GIB, limit_bytes: 64 * GIB, per: 'slot' } as const;
    const runs = pastJobs(61, (index) => ({
      ...{ ...needing(40), peak_rss: held, peak_rss_swap: held, peak_footprint: null },
      ...(index === 60 ? { h_vmem: limit, requests: {} } : { h_vmem: null, requests: { mem_free: limit } }),
    }));
    const { memory } = advise(runs);
    assert.deepEqual([memory?.complex, memory?.runs, memory?.largest], ['h_vmem', 61, 10 * GIB]);
    assert.ok((memory?.amount ?? 0) >= 10 * GIB, memory?.text);
    const reserved = advise(runs, { fields: { complex: 'mem_free' } }).memory;
    assert.deepEqual([reserved?.complex, reserved?.runs, reserved?.largest], ['mem_free', 61, 0.5 * GIB]);
  });

  it('takes the narrowest class that has enough runs', () => {
    const wide = pastJobs(20, () => ({ ...needing(16), slots: 8, host_slots: 8, pe: 'mpi' }));
    const own = pastJobs(40, varying).slice(20);
    assert.equal(advise([...wide, ...own]).memory?.runs, 20);
    const unknown = advise([...wide, ...own], { fields: { slots: null } }).memory;
    assert.equal(unknown?.runs, 40);
  });

  it('keeps scripts of one name apart, and uses the runs of all of them for an unknown script', () => {
    const small = '11111111.22222222';
    const large = '33333333.22222222';
    const runs = pastJobs(60, (index) =>
      index % 3 === 0 ? { ...varying(index), program: large } : { ...needing(3 + (index % 10) / 100), program: small },
    );
    const of = (...programs: readonly string[]): ClassAdvice['memory'] => advise(runs, { fields: { programs } }).memory;
    const own = of(small);
    assert.deepEqual([own?.runs, own?.largest, own?.sameProgram], [40, (3.09 * GIB) / 4, true]);
    assert.ok((own?.amount ?? Infinity) < GIB, own?.text);
    assert.deepEqual([of(large)?.runs, of(large)?.sameProgram], [20, true]);
    for (const unknown of [of(), of('55555555.22222222')])
      assert.deepEqual([unknown?.runs, unknown?.largest, unknown?.sameProgram], [60, (7.9 * GIB) / 4, false]);
    assert.equal(of('11111111.66666666')?.runs, 40, 'in another directory');
  });

  it('identifies a script by its submit command where no host has seen it', () => {
    const byName = (name: string, gib: number) => (index: number) => ({
      ...needing(gib + (index % 10) / 100),
      grid_engine: accountOf({ submit_command: `qsub -N step_${index} ${name}` }),
    });
    const runs = pastJobs(40, (index) => byName(index % 2 === 0 ? 'a.sh' : 'b.sh', 1 + (index % 2) * 6)(index));
    const fields = { programs: programsOf(null, 'a.sh') };
    assert.deepEqual([advise(runs, { fields }).memory?.runs, advise(runs).memory?.runs], [20, 40]);
  });

  it('leaves out similar names, failed jobs, and parallel jobs with hosts that were not sampled', () => {
    const others = pastJobs(5, () => ({ ...needing(30), job_name: 'step_x' }));
    const failed = pastJobs(5, () => ({ ...needing(1), exit_status: 1 }));
    const unseen = pastJobs(5, () => ({
      ...needing(1),
      peak_process_vmem: null,
      granted_hosts: [
        { host: 'a', slots: 2 },
        { host: 'b', slots: 2 },
      ],
    }));
    assert.deepEqual(advise([...others, ...failed, ...unseen]).memory, null);
  });

  it('counts all hosts and tasks of a parallel job as one run', () => {
    const jobs = pastJobs(8).flatMap(({ job_id, submitted_at, started_at, ended_at, run_id }, index) => {
      const times = { job_id, submitted_at, started_at, ended_at };
      const later = new Date(Date.parse(started_at ?? '') + 3000).toISOString();
      const task = (host: number, number: number): JobRecord => ({
        ...mpiTask(host, number),
        ...times,
        submitted_at: later,
        started_at: later,
        run_id: `${run_id}${host}${number}`,
      });
      const master = { ...mpiMaster(2), ...times, run_id, job_name: `cfd_${index}` };
      return [master, task(1, 1), task(2, 1), task(2, 2)];
    });
    const { memory } = advise(jobs, { fields: { jobName: 'cfd_9', slots: 32, pe: 'orte' } });
    // The upper bounds of the two tasks on the second host.
    const fullest = 4_710_000_000 + 4_720_000_000 + 2 * 20_000_000;
    assert.deepEqual([memory?.runs, Math.floor((memory?.largest ?? 0) * 16)], [8, fullest]);
  });

  it('asks for more than the limit that ended a run', () => {
    const { memory } = advise([
      ...pastJobs(10, () => ({ ...needing(2) })),
      ...pastJobs(11, () => ({
        ...killedAtLimit,
        job_name: 'step_1',
        slots: 4,
        host_slots: 4,
        pe: 'smp',
        h_vmem: { request_bytes: GIB, limit_bytes: 4 * GIB, per: 'slot' as const },
      })).slice(10),
    ]);
    assert.ok((memory?.amount ?? 0) >= 1.5 * GIB, memory?.text);
    assert.deepEqual([memory?.runs, memory?.stoppedAt], [11, GIB]);
  });

  it('raises the limit at which one of few runs was stopped as much as the advice for a single job', () => {
    const alike = { slots: 1, host_slots: 1, pe: null, submitted_at: '2026-11-01T10:00:00Z' };
    const fields = { jobName: 'sim', slots: 1, pe: null };
    const memory = { ...killedAtLimit, ...alike, job_name: 'sim' };
    const own = [memory];
    for (const records of [[memory], [...pastJobs(90, () => ({ ...needing(1), ...alike, job_name: 'sim' })), memory]]) {
      const advised = advise(records, { fields, own }).memory;
      assert.ok((advised?.amount ?? 0) >= 6 * GIB, advised?.text);
      assert.equal(advised?.stoppedAt, 4 * GIB);
    }
    assert.equal(adviseRequest([memory])?.request, 'h_vmem=6G');

    const meaningless = { request_bytes: 4, limit_bytes: 10 * 2 ** 20, per: 'slot' } as const;
    const nothing = { ...memory, h_vmem: meaningless, peak_rss: null, peak_rss_swap: null, peak_process_vmem: null };
    assert.equal(advise([nothing], { fields }).memory, null, 'h_vmem=4');
    assert.equal(adviseRequest([nothing]), null);

    const overTime = { ...BAD_ENDS['stopped-at-h_rt'], ...alike, wallclock_seconds: 603 };
    const quick = [1, 2].map((number) => ({ ...modest, ...alike, job_id: number, wallclock_seconds: 60 }));
    for (const records of [[overTime], [...quick, overTime]]) {
      const advised = advise(records, { fields }).time;
      assert.ok((advised?.amount ?? 0) >= 1200, advised?.text);
      assert.deepEqual([advised?.stoppedAt, advised?.largest], [600, 603]);
    }
    assert.equal(advise([overTime], { fields }).time?.text, '0:20:00');
    assert.equal(advise(quick, { fields }).time?.stoppedAt, null);
  });

  it('names a larger need that was measured, not a lower limit that stopped another run', () => {
    const alike = { slots: 1, host_slots: 1, pe: null, job_name: 'sim' };
    const stopped = { ...killedAtLimit, ...alike };
    const { memory } = advise([stopped, ...pastJobs(1, () => ({ ...needing(9), ...alike }))], {
      fields: { jobName: 'sim', slots: 1, pe: null },
    });
    assert.deepEqual([memory?.stoppedAt, memory?.largest], [null, 9 * GIB]);
  });

  it('never asks for less than the job needed, and then states no risk', () => {
    const own = pastJobs(1, () => needing(20));
    const { memory } = advise(pastJobs(30, varying), { own, risk: 0.1 });
    assert.deepEqual([memory?.text, memory?.risk, memory?.runs, memory?.largest], ['6G', null, 1, 5 * GIB]);
    assert.deepEqual([memory?.predictions, memory?.failed, memory?.undecided], [0, 0, 0]);
    assert.equal(memory?.alone?.request, adviseRequest(own)?.request);
    const running = own.map((record) => ({ ...record, status: 'running' as const, ended_at: null, exit_status: null }));
    assert.equal(advise(pastJobs(30, varying), { own: running }).memory?.text, '6G');
    const small = advise(pastJobs(30, varying), { own: pastJobs(1, varying) }).memory;
    assert.deepEqual([small?.runs, small?.alone], [30, null]);
  });

  it('counts a prediction as undecided where a run was stopped below it', () => {
    const some = pastJobs(60, (index) => (index % 10 === 9 ? stoppedAtLimit() : varying(index)));
    const advice = advise(some, { risk: 0.2 });
    const { memory } = advice;
    assert.ok(memory?.risk != null && memory.predictions > 20 && memory.failed === 0, JSON.stringify(memory));
    // Before the first stopped run no such risk could be stated.
    assert.equal(memory.undecided, 5, JSON.stringify(memory));
    const notes = classNotes(classObject({ fields: STEPS, advice, risk: 0.2 }));
    assert.match(notes.join('\n'), /^Undecided: runs that were stopped at a limit below what was predicted;/m);
  });

  it('states no risk where most runs were stopped at their limit', () => {
    const { exit_status, signal, failed, grid_engine } = BAD_ENDS['stopped-at-h_rt'];
    const overTime = { exit_status, signal, failed, grid_engine, wallclock_seconds: 603 };
    const advice = advise(pastJobs(30, () => overTime));
    const memory = advise(pastJobs(30, stoppedAtLimit)).memory;
    assert.deepEqual([memory?.text, advice.time?.text], ['1.5G', '0:20:00']);
    for (const prediction of [memory, advice.time]) {
      assert.deepEqual([prediction?.risk, prediction?.predictions, prediction?.mostlyStopped], [null, 0, true]);
    }
    const notes = classNotes(classObject({ fields: STEPS, advice, risk: 0.01 }));
    assert.match(
      notes.join('\n'),
      /^h_rt: most of the runs were stopped at a limit, so no risk can be stated: twice the limit/m,
    );
  });

  it("counts runs of which only Grid Engine's figure is known", () => {
    const imported = {
      status: 'unsampled',
      trust: 'accounting',
      peak_rss: null,
      peak_rss_swap: null,
      peak_process_vmem: null,
      grid_engine: tenMinutesOf({ maxvmem_bytes: 6 * GIB }),
    } as const;
    const { memory } = advise(pastJobs(12, () => imported));
    assert.deepEqual([memory?.runs, memory?.countedOnly, memory?.largest], [12, 12, (6 * GIB) / 4]);
    const one = advise(pastJobs(12, (index) => (index === 5 ? imported : varying(index))));
    const notes = classNotes(classObject({ fields: STEPS, advice: one, risk: 0.01 }));
    assert.match(notes.join('\n'), /^~ 1 of the runs is known from Grid Engine's figure only/m);
  });
});
