import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { programDigest } from '../../src/gridengine/program';
import { programsOf, programsOfRecord } from '../../src/record/programs';
import { ordinary } from '../report/sample-records';
import { accountOf } from '../support/records';

describe('programsOfRecord', () => {
  it('has what the host saw before what the submission named', () => {
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

  it('knows a command by the same digest from its host and from its submission', () => {
    const [seen, submitted] = programsOf(programDigest({ command: '/opt/sim' }, '/home/bob'), '/opt/sim');
    assert.equal(seen?.split('.')[0], submitted);
  });
});
