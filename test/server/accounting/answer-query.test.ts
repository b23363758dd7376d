import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { anything, checkJson, integer, list, object } from '../../../src/base/shape';
import { judge } from '../../../src/report/rules/judge';
import { loadRules } from '../../../src/report/rules/rule-set';
import { answerQuery, MOST_CAUSES, type AccountingQuery } from '../../../src/server/accounting/answer-query';
import { FULL_ACCESS, type Access } from '../../../src/server/access/access';
import { memoryReader } from '../../accounting/memory-reader';
import { BAD_ENDS } from '../../report/bad-ends';
import { needing, pastJobs } from '../../report/past-jobs';
import { ordinary } from '../../report/sample-records';

describe('the answer about a job', () => {
  it('explains bad ends, up to a limit', async () => {
    const stopped = BAD_ENDS['stopped-at-h_rt'];
    const tasks = (count: number): (typeof stopped)[] =>
      Array.from({ length: count }, (_, index) => ({ ...stopped, task_id: index + 1 }));
    const ask = async (count: number): Promise<{ causes: readonly unknown[]; more_causes: boolean }> => {
      const question = { what: 'job', query: { job_id: stopped.job_id }, dialect: 'sge8.1.9' } as const;
      return JSON.parse(await answerQuery(question, FULL_ACCESS, memoryReader(tasks(count)))) as Awaited<
        ReturnType<typeof ask>
      >;
    };
    const all = await ask(MOST_CAUSES);
    assert.deepEqual([all.causes.length, all.more_causes], [MOST_CAUSES, false]);
    const more = await ask(MOST_CAUSES + 1);
    assert.deepEqual([more.causes.length, more.more_causes], [MOST_CAUSES, true]);
    assert.match(JSON.stringify(more.causes[0]), /"causes":\["h_rt"\].*"next_time":"qsub -l h_vmem=4G,h_rt=0:20:00"/);
  });

  it('advises by those past runs that the caller may see', async () => {
    const records = pastJobs(60, () => needing(8), Date.now() - 86_400_000);
    const nextOf = async (access: Access): Promise<unknown> => {
      const question = { what: 'job', query: { job_id: 1000 } } as const;
      const answer = JSON.parse(await answerQuery(question, access, memoryReader(records))) as {
        readonly records: readonly { readonly next_time: object }[];
      };
      return answer.records[0]?.next_time;
    };
    const bytes = Math.trunc(2.1 * 1024 ** 3);
    const known = { kind: 'lower', complex: 'h_vmem', request_bytes: bytes, risk: 0.01, runs: 60 };
    assert.deepEqual(await nextOf(FULL_ACCESS), known);
    assert.deepEqual(await nextOf({ level: 'own', user: 'bob' }), known);
    const alone = { ...known, request_bytes: Math.trunc(2.4 * 1024 ** 3), risk: null, runs: null };
    assert.deepEqual(await nextOf({ level: 'anonymous', user: 'alice' }), alone);
  });
});

describe('advice for a user who may see only their own jobs', () => {
  const day = Date.now() - 86_400_000;
  const bobsJobs = pastJobs(60, () => needing(8), day);
  const alicesJobs = pastJobs(60, () => needing(14), day).map((record) => ({
    ...record,
    owner: 'alice',
    job_id: record.job_id + 500,
    run_id: `alice.${record.run_id}`,
  }));
  const bob: Access = { level: 'own', user: 'bob' };
  const unknown = { slots: null, pe: null, project: null, queue: null, programs: [], complex: null };
  const fields = { owner: 'bob', jobName: bobsJobs[0]?.job_name ?? '', ...unknown };
  const questions: readonly AccountingQuery[] = [
    { what: 'prediction', query: { fields: { ...fields, cluster: null }, now: Date.now() } },
    { what: 'class', query: { fields: { ...fields, cluster: null }, risk: 0.01 } },
    { what: 'records', query: { since: 0, until: Date.now(), owner: 'bob', limit: 5 }, nextTime: true },
  ];

  it("rests on all of the user's own runs, and on no other user’s of the same name", async () => {
    for (const question of questions) {
      const alone = await answerQuery(question, FULL_ACCESS, memoryReader(bobsJobs));
      const among = await answerQuery(question, bob, memoryReader([...alicesJobs, ...bobsJobs]));
      const shown = (text: string): string => text.replace('"shown":"all"', '"shown":"own"');
      assert.equal(among, shown(alone), question.what);
      assert.match(among, /"runs":60/, question.what);
    }
  });

  it('is refused or null about other users', async () => {
    const alice: Access = { level: 'own', user: 'alice' };
    const ask = (question: AccountingQuery | undefined): Promise<string> =>
      answerQuery(question ?? assert.fail(), alice, memoryReader(bobsJobs));
    const [prediction, ofClass, records] = questions;
    assert.equal(await ask(prediction), '{"prediction":null}\n');
    for (const question of [ofClass, records]) await assert.rejects(ask(question), { httpStatus: 403 });
  });

  it('is the same in a list as for the job alone, and left out unless asked for', async () => {
    const listShape = object({ records: list(object({ job_id: integer(), next_time: anything }), 100) });
    const ask = async (question: AccountingQuery): Promise<readonly { job_id: number; next_time: unknown }[]> => {
      const read = checkJson(
        listShape,
        await answerQuery(question, bob, memoryReader([...alicesJobs, ...bobsJobs])),
        'it',
      );
      assert.ok(read.ok);
      return read.value.records;
    };
    const query = { since: 0, until: Date.now(), limit: 3 };
    const listed = await ask({ what: 'records', query, nextTime: true });
    assert.equal(listed.length, 3);
    for (const { job_id, next_time } of listed) {
      const [alone] = await ask({ what: 'job', query: { job_id } });
      assert.deepEqual(next_time, alone?.next_time);
    }
    const plain = await answerQuery({ what: 'records', query }, bob, memoryReader(bobsJobs));
    assert.ok(!plain.includes('next_time'));
  });
});

describe('the classes of a job', () => {
  it('are in the answer, with the version of the rules', async () => {
    const { version } = await loadRules('');
    const answer = await answerQuery(
      { what: 'job', query: { job_id: ordinary.job_id } },
      FULL_ACCESS,
      memoryReader([ordinary]),
    );
    const read = checkJson(object({ records: list(object({ classes: anything }), 9) }), answer, 'the answer');
    assert.ok(read.ok);
    const [record] = read.value.records;
    const expected = judge(await loadRules(''), [{ ...ordinary }], null);
    assert.equal(expected.rules_version, version);
    assert.deepEqual(
      expected.found.map((finding) => finding.class),
      ['memory-far-below'],
    );
    assert.deepEqual(record?.classes, expected);
  });
});
