import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { JobRecord } from '../../../src/record/record';
import { sharedProjects } from '../../../src/server/access/projects';
import { memoryReader } from '../../accounting/memory-reader';
import { after, ordinary } from '../../report/sample-records';

const NOW = Date.parse(after(86_400));

function jobs(...changes: readonly Partial<JobRecord>[]): readonly JobRecord[] {
  return changes.map((change, index) => ({ ...ordinary, owner: 'alice', job_id: index + 1, ...change }));
}

const projectsOf = (...changes: readonly Partial<JobRecord>[]): Promise<readonly string[]> =>
  sharedProjects('alice', NOW, memoryReader(jobs(...changes)));

describe('sharedProjects', () => {
  it('are those in which the user has run jobs', async () => {
    assert.deepEqual(
      await projectsOf(
        { project: 'proteins' },
        { project: 'genome' },
        { project: 'genome' },
        { project: 'x', owner: 'bob' },
      ),
      ['genome', 'proteins'],
    );
    assert.deepEqual(await projectsOf({ project: 'genome', trust: 'accounting' }), ['genome']);
  });

  it('are not taken from self-reported jobs', async () => {
    assert.deepEqual(await projectsOf({ project: 'genome', trust: 'self-reported' }), []);
    const both = await projectsOf(
      { project: 'genome', trust: 'self-reported' },
      { project: 'genome', ended_at: after(-9000) },
    );
    assert.deepEqual(both, ['genome']);
  });

  it('leave out NONE, missing names, and projects of long ago', async () => {
    assert.deepEqual(await projectsOf({ project: 'NONE' }, { project: null }, { project: '' }), []);
    assert.deepEqual(await projectsOf({ project: 'genome', ended_at: after(-100 * 86_400) }), []);
  });
});
