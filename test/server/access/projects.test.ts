import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AccountingService } from '../../../src/server/accounting/accounting-thread';
import { HttpProblem } from '../../../src/server/http/http-problem';
import { newProjectsOf } from '../../../src/server/access/projects';
import { FULL_ACCESS } from '../../../src/server/access/access';
import { after, ordinary } from '../../report/sample-records';
import { memoryAccounting } from '../accounting/memory-accounting';

const NOW = Date.parse(after(86_400));

describe('newProjectsOf', () => {
  it('asks the accounting DB once for a while', async () => {
    const accounting = memoryAccounting([{ ...ordinary, owner: 'alice', project: 'genome' }]);
    const asked: unknown[] = [];
    const counting: AccountingService = {
      ...accounting,
      ask: (question, access) => {
        asked.push([question.what, access]);
        return accounting.ask(question, access);
      },
    };
    let now = NOW;
    const projectsOf = newProjectsOf(counting, () => now);
    assert.deepEqual(await Promise.all([projectsOf('alice'), projectsOf('alice')]), [['genome'], ['genome']]);
    assert.deepEqual(await projectsOf('bob'), []);
    now += 60_000;
    await projectsOf('alice');
    assert.deepEqual(asked, [
      ['projects', FULL_ACCESS],
      ['projects', FULL_ACCESS],
    ]);
    now += 600_000;
    assert.deepEqual(await projectsOf('alice'), ['genome']);
    assert.equal(asked.length, 3);
  });

  it('has no projects while the accounting DB does not answer, and asks again soon', async () => {
    let dead = true;
    let now = NOW;
    const accounting = memoryAccounting([{ ...ordinary, owner: 'alice', project: 'genome' }]);
    const ask: AccountingService['ask'] = (question, access) =>
      dead ? Promise.reject(new HttpProblem(503, 'it is away')) : accounting.ask(question, access);
    const projectsOf = newProjectsOf({ ...accounting, ask }, () => now);
    assert.deepEqual(await projectsOf('alice'), []);
    dead = false;
    now += 11_000;
    assert.deepEqual(await projectsOf('alice'), ['genome']);
  });
});
