import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { programDigest } from '../../src/gridengine/program';
import { programsOf, programsOfRecord } from '../../src/record/programs';
import { ordinary } from '../report/sample-records';
import { accountOf } from '../support/records';

describe('programsOfRecord', () => {
  it('has the program seen on the host before the one named in the submission', () => {
    const submitted = (line: string): { readonly grid_engine: ReturnType<typeof accountOf> } => ({
      grid_engine: accountOf({ submit_command: line }),
    });
    const program = '12345678.9abcdef0';
    const byName = programDigest({ command: 'sim.sh' }, null);
    assert.deepEqual(programsOfRecord(ordinary), []);
    assert.deepEqual(programsOfRecord({ ...ordinary, program }), [program]);
    assert.deepEqual(programsOfRecord({ program, ...submitted('qsub -cwd sim.sh ...') }), [program, byName]);
    assert.deepEqual(programsOfRecord({ program: null, ...submitted('qsub -cwd sim.sh ...') }), [byName]);
    assert.deepEqual(programsOfRecord({ program: null, ...submitted('qlogin') }), []);
  });

  it('gives a command the same digest whether seen on the host or named in the submission', () => {
    const [seen, submitted] = programsOf(programDigest({ command: '/opt/sim' }, '/home/bob'), '/opt/sim');
    assert.equal(seen?.split('.')[0], submitted);
  });
});
