import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AccountingDesk } from '../../../src/server/accounting/accounting-thread';
import { HttpProblem } from '../../../src/server/http/http-problem';
import { newProjectsOf } from '../../../src/server/access/projects-of';
import { SEES_ALL } from '../../../src/server/access/access';
import { after, ordinary } from '../../report/sample-records';
import { memoryDesk } from '../accounting/memory-accounting';

const NOW = Date.parse(after(86_400));

describe('newProjectsOf', () => {
  it('asks once for a while', async () => {
    const desk = memoryDesk([{ ...ordinary, owner: 'alice', project: 'genome' }]);
    const asked: unknown[] = [];
    const counting: AccountingDesk = {
      ...desk,
      ask: (question, sight) => {
        asked.push([question.what, sight]);
        return desk.ask(question, sight);
      },
    };
    let now = NOW;
    const projectsOf = newProjectsOf(counting, () => now);
    assert.deepEqual(await Promise.all([projectsOf('alice'), projectsOf('alice')]), [['genome'], ['genome']]);
    assert.deepEqual(await projectsOf('bob'), []);
    now += 60_000;
    await projectsOf('alice');
    assert.deepEqual(asked, [
      ['projects', SEES_ALL],
      ['projects', SEES_ALL],
    ]);
    now += 600_000;
    assert.deepEqual(await projectsOf('alice'), ['genome']);
    assert.equal(asked.length, 3);
  });

  it('knows of none while the accounting DB does not answer, and asks again soon', async () => {
    let dead = true;
    let now = NOW;
    const desk = memoryDesk([{ ...ordinary, owner: 'alice', project: 'genome' }]);
    const ask: AccountingDesk['ask'] = (question, sight) =>
      dead ? Promise.reject(new HttpProblem(503, 'it is away')) : desk.ask(question, sight);
    const projectsOf = newProjectsOf({ ...desk, ask }, () => now);
    assert.deepEqual(await projectsOf('alice'), []);
    dead = false;
    now += 11_000;
    assert.deepEqual(await projectsOf('alice'), ['genome']);
  });
});
