import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { RecordsQuery } from '../../../src/accounting/store';
import type { FieldName } from '../../../src/record/fields';
import { asStored } from '../../../src/record/merge';
import { emptyRecord, type JobRecord } from '../../../src/record/record';
import { adviseMemory, classRuns, PastKind, type ClassFields } from '../../../src/report/advice/class-advice';
import { ClassHistory, MEMORY_FIELDS } from '../../../src/report/advice/class-history';
import { asRun, type JobRun } from '../../../src/report/job/job-run';
import { arbitraryRecord } from '../../accounting/arbitrary-record';
import { memoryReader } from '../../accounting/memory-reader';
import { needing, pastJobs } from '../past-jobs';

const NOW = Date.parse('2026-11-20T12:00:00Z');
const KINDS = 120;

/** Twelve runs of each class; the names of two classes differ in more than digits. */
const names = Array.from({ length: KINDS }, (_, index) => `${'k'.repeat(1 + (index % 12))}${'x'.repeat(index)}-1`);
const runs = names.flatMap((job_name, index) =>
  pastJobs(12, () => needing(8), NOW - 86_400_000).map((record): JobRecord => {
    const job_id = 10_000 + 100 * index + (record.job_id % 100);
    return { ...record, job_id, job_name, run_id: `${index}.${record.run_id}` };
  }),
);

const PARTS_LEFT_OUT = {
  bracket: { slack_bytes: 0, at: null, command: null },
  account: { cpu_seconds: 0, user_seconds: null, system_seconds: null, maxrss_bytes: null },
};

/** A field as a store gives it in a list. */
function inBrief(name: FieldName, value: unknown): unknown {
  if (value === null) return null;
  if (name.startsWith('peak_')) return { ...value, ...PARTS_LEFT_OUT.bracket };
  return name === 'grid_engine' ? { ...value, ...PARTS_LEFT_OUT.account, mem_gib_seconds: null, io_gib: null } : value;
}

describe('ClassHistory', () => {
  it('advises on each of many classes, and asks for each once', async () => {
    const reader = memoryReader(runs);
    const asked: string[] = [];
    const find = async (query: RecordsQuery) => {
      asked.push(query.name_class ?? '');
      return (await reader.records(query)).records;
    };
    const history = new ClassHistory(find, NOW);
    const listed = runs.map((record): JobRun => ({ record, attempt: 1, incarnation: 1 }));
    const advised = [...(await history.advise(listed)), ...(await history.advise(listed))];
    assert.ok(advised.every(({ prediction }) => prediction?.runs === 12));
    assert.equal(asked.length, KINDS);
    assert.equal(new Set(asked).size, KINDS);
  });

  it('finds the runs among many newer ones with similar names, and of other clusters', async () => {
    const own = pastJobs(12, () => needing(8), NOW - 9 * 86_400_000);
    const others = pastJobs(300, () => needing(30), NOW - 4 * 86_400_000);
    const reader = memoryReader([
      ...own,
      ...others.map((record) => ({ ...record, job_name: 'step_by_step' })),
      ...others.map((record) => ({ ...record, cluster: 'other' })),
    ]);
    const history = new ClassHistory(async (query) => (await reader.records(query)).records, NOW);
    const [run] = await history.advise(own.slice(0, 1).map(asRun));
    assert.deepEqual([run?.prediction?.runs, run?.prediction?.largest], [12, 2 * 1024 ** 3]);
  });

  it('reads more records where the usual number covers too few jobs', async () => {
    const hosts = 10;
    const jobs = pastJobs(90, () => needing(8), NOW - 86_400_000);
    const parallel = jobs.flatMap((record): JobRecord[] =>
      Array.from({ length: hosts }, (_host, index) => ({
        ...record,
        ...{ host: `node${index}`, pe: 'mpi', slots: hosts, host_slots: 1, run_id: `${record.run_id}.${index}` },
        pe_task_id: index === 0 ? null : `1.node${index}`,
        granted_hosts: index === 0 ? jobs.slice(0, hosts).map((_job, at) => ({ host: `node${at}`, slots: 1 })) : null,
      })),
    );
    const reader = memoryReader([...runs.slice(0, 12), ...parallel]);
    const limits: unknown[] = [];
    const history = new ClassHistory(async (query) => {
      limits.push(query.limit);
      return (await reader.records(query)).records;
    }, NOW);
    const kind = { slots: hosts, pe: 'mpi', project: null, queue: null, programs: [], cluster: null, complex: null };
    const { owner, job_name: name } = parallel[0] ?? assert.fail();
    const prediction = await history.memoryOf({ ...kind, owner: owner ?? '', jobName: name ?? '' });
    assert.deepEqual([prediction?.runs, limits], [90, [250, 1000]]);
  });

  it('reads every field that the advice on memory depends on', () => {
    const nowhere = { slots: null, pe: null, project: null, queue: null, programs: [], cluster: null, complex: null };
    const fields: ClassFields = { ...nowhere, owner: 'bob', jobName: 'step_#' };
    const onlyNeeded = (record: JobRecord): JobRecord => ({
      ...emptyRecord(record, record.status, record.trust, record.revision),
      ...Object.fromEntries(MEMORY_FIELDS.map((name) => [name, inBrief(name, record[name])])),
    });
    const own = fc.record({
      job_id: fc.integer({ min: 1, max: 3 }),
      task_id: fc.constantFrom(null, 1),
      pe_task_id: fc.constantFrom(null, null, '1.node1', '2.node2'),
      host: fc.constantFrom('node1', 'node2'),
      exit_status: fc.constantFrom(0, 0, 1, 137),
      failed: fc.constantFrom(null, 0, 37, 100),
      minutes: fc.integer({ min: 1, max: 60 }),
    });
    const aRun = fc.tuple(arbitraryRecord(), own).map(([record, { minutes, ...more }]): JobRecord => ({
      ...record,
      ...more,
      ...{ cluster: 'cell', owner: 'bob', job_name: `step_${more.job_id}`, signal: 0, series: null },
      submitted_at: new Date(NOW + more.job_id * 3_600_000).toISOString(),
      ended_at: new Date(NOW + more.job_id * 3_600_000 + minutes * 60_000).toISOString(),
    }));
    let known = 0;
    fc.assert(
      fc.property(fc.array(aRun, { minLength: 1, maxLength: 8 }), (records) => {
        const adviceOn = (some: readonly JobRecord[]): readonly [advice: unknown, runs: unknown] => {
          const past = new PastKind(some.map(asStored), fields.jobName);
          const runs = classRuns(past, fields).map((run) => ({ ...run, records: [] }));
          return [adviseMemory(past, fields, { risk: 0.01 }), runs];
        };
        if (adviceOn(records)[0] !== null) known++;
        assert.deepEqual(adviceOn(records.map(onlyNeeded)), adviceOn(records));
      }),
      { numRuns: 200 },
    );
    assert.ok(known > 20, `advice in ${known} of 200`);
  });
});
