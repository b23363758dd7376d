import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { jobClasses } from '../../src/advice/job-classes';

type Job = Parameters<typeof jobClasses>[0] & { readonly programs: readonly string[] };

const JOB: Job = {
  ...{ cluster: 'hpc', owner: 'bob', job_name: 'step_7', slots: 2, pe: 'smp', project: 'genome', queue: 'all.q' },
  programs: ['11111111.22222222'],
};

const classesOf = ({ programs, ...job }: Job, known?: Parameters<typeof jobClasses>[2]): readonly string[] =>
  jobClasses(job, programs, known);

const sharedClasses = (a: Partial<Job>, b: Partial<Job>): number => {
  const others = classesOf({ ...JOB, ...b });
  return classesOf({ ...JOB, ...a }).filter((name) => others.includes(name)).length;
};

describe('jobClasses', () => {
  it('gives five classes, from the same program, directory and queue to the name alone', () => {
    assert.equal(classesOf(JOB).length, 5);
    assert.equal(sharedClasses({ job_name: 'step_8' }, {}), 5);
    assert.equal(sharedClasses({ programs: ['11111111.33333333'] }, {}), 4, 'in another directory');
    assert.equal(sharedClasses({ queue: 'long.q' }, {}), 3, 'in another queue');
    assert.equal(sharedClasses({ programs: ['44444444.22222222'] }, {}), 3, 'another script');
    assert.equal(sharedClasses({ slots: 4 }, {}), 1);
    assert.equal(sharedClasses({ owner: 'alice' }, {}), 0);
  });

  it('leaves out the program if unknown, and has classes for each of two programs', () => {
    assert.equal(classesOf({ ...JOB, programs: [] }).length, 3);
    assert.equal(sharedClasses({ programs: [] }, {}), 3);
    const both = ['11111111.22222222', '55555555'];
    assert.equal(sharedClasses({ programs: both }, {}), 5);
    assert.equal(sharedClasses({ programs: both }, { programs: ['55555555'] }), 5);
  });

  it('gives only classes for which size and place are known', () => {
    assert.deepEqual(classesOf(JOB, { size: false, place: true }), classesOf(JOB).slice(-1));
    const [, ofScript, , ...wide] = classesOf(JOB);
    assert.deepEqual(classesOf(JOB, { size: true, place: false }), [ofScript, ...wide]);
  });

  it('gives different classes for different jobs, whatever the names are', () => {
    const name = fc.string({ unit: 'binary-ascii' }).map((text) => text.replaceAll('\0', ''));
    const job = fc.record({ ...{ owner: name, project: name, queue: name, pe: name }, programs: fc.array(name) });
    fc.assert(
      fc.property(job, (fields) => {
        const classes = classesOf({ ...JOB, ...fields });
        assert.equal(new Set(classes).size, classes.length);
        const narrower = classesOf({ ...JOB, ...fields, queue: `${fields.queue}x` });
        assert.ok(classes.some((one) => !narrower.includes(one)));
      }),
    );
  });
});
