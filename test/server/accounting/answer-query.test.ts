import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { answerQuery, MOST_CAUSES } from '../../../src/server/accounting/answer-query';
import { FULL_ACCESS } from '../../../src/server/access/access';
import { memoryReader } from '../../accounting/memory-reader';
import { BAD_ENDS } from '../../report/bad-ends';

describe('what is told of a job', () => {
  it('explains bad ends, and so many at most', async () => {
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
});
