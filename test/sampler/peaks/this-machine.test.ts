import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { release } from 'node:os';
import { describe, it } from 'node:test';
import { kernelVersion } from '../../../src/sampler/peaks/slack';
import { thisMachine } from '../../../src/sampler/peaks/this-machine';

const configured = (name: string): number => Number(execFileSync('getconf', [name], { encoding: 'utf8' }));

describe('thisMachine', () => {
  it('knows its kernel, page size and CPUs', () => {
    assert.deepEqual(thisMachine().kernel, kernelVersion(release()));
    assert.equal(thisMachine().pageSize, configured('PAGESIZE'));
    assert.ok(thisMachine().cpus >= configured('_NPROCESSORS_ONLN'));
  });

  it('looks once', () => {
    assert.equal(thisMachine(), thisMachine());
  });
});
