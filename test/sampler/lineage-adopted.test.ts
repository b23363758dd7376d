import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Lineage } from '../../src/sampler/processes/lineage';
import type { ProcessEvent } from '../../src/sampler/listener/process-table';
import type { SweepReading } from '../../src/sampler/peaks/upper-ends';

const fork = (at: number, parent: number, child: number): ProcessEvent => ({
  kind: 'fork',
  at,
  parent,
  child,
  thread: parent,
});
const reading = (pid: number, at: number): SweepReading => ({
  pid,
  at,
  rss: 1000,
  vmem: 2000,
  image: pid,
  forkedNoExec: false,
});

describe('the lineage of a job', () => {
  it('names those that no fork explains, once, and counts them once, also when their fork is told later', () => {
    const lineage = new Lineage({ kernel: [6, 18], pageSize: 4096, cpus: 2 });
    lineage.setRoot(10);
    const first = lineage.settle({ begin: 5, readings: [reading(10, 6), reading(11, 7)] });
    assert.deepEqual(first.adopted, [10, 11]);
    lineage.addEvents([fork(2, 10, 11), fork(8, 11, 12)]);
    const second = lineage.settle({ begin: 9, readings: [reading(10, 10), reading(11, 10), reading(12, 10)] });
    assert.deepEqual(second.adopted, []);
    assert.equal(lineage.totals().processes, 3);
    assert.deepEqual([...lineage.living()], [10, 11, 12]);
  });
});
