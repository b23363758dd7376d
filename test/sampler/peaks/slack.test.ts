import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { release } from 'node:os';
import { describe, it } from 'node:test';
import {
  kernelVersion,
  markSlackBytes,
  slackBytes,
  thisMachine,
  type CounterPrecision,
} from '../../../src/sampler/peaks/slack';

const configured = (name: string): number => Number(execFileSync('getconf', [name], { encoding: 'utf8' }));
const KIB = 1024;
const MIB = 1024 * KIB;

const machine = (kernel: string, cpus: number, pageSize = 4096): CounterPrecision => ({
  kernel: kernelVersion(kernel),
  cpus,
  pageSize,
});

describe('kernelVersion', () => {
  it('reads the releases of distributions, and 0.0 where there is no number', () => {
    for (const [release, version] of [
      ['4.18.0-553.el8_10.x86_64', [4, 18]],
      ['5.14.0-427.13.1.el9_4.x86_64', [5, 14]],
      ['6.1.0-30-amd64', [6, 1]],
      ['6.18.44', [6, 18]],
      ['3.10.0-1160.el7.x86_64', [3, 10]],
      ['10.0-rc1', [10, 0]],
      ['nonsense', [0, 0]],
    ] as const)
      assert.deepEqual(kernelVersion(release), version, release);
  });
});

describe('slackBytes', () => {
  it('grows with the threads before Linux 6.2', () => {
    for (const kernel of ['3.10', '4.18', '5.14', '6.1'])
      for (const cpus of [1, 256]) {
        assert.equal(slackBytes(machine(kernel, cpus), 1), 768 * KIB);
        assert.equal(slackBytes(machine(kernel, cpus), 64), 48 * MIB);
      }
  });

  it('counts at least one thread', () => {
    assert.equal(slackBytes(machine('5.14', 4), 0), 768 * KIB);
  });

  it('grows with the CPUs from Linux 6.2 to 6.16, whatever the number of threads', () => {
    for (const kernel of ['6.2', '6.6', '6.16'])
      for (const threads of [1, 100]) {
        assert.equal(slackBytes(machine(kernel, 1), threads), 384 * KIB);
        assert.equal(slackBytes(machine(kernel, 2), threads), 768 * KIB);
        assert.equal(slackBytes(machine(kernel, 16), threads), 6 * MIB);
        assert.equal(slackBytes(machine(kernel, 256), threads), 1536 * MIB);
      }
  });

  it('is zero from Linux 6.17', () => {
    for (const kernel of ['6.17', '6.18', '7.0']) assert.equal(slackBytes(machine(kernel, 256), 64), 0);
  });

  it('is counted in pages of the machine', () => {
    assert.equal(slackBytes(machine('4.18', 64, 65536), 1), 12 * MIB);
    assert.equal(slackBytes(machine('6.6', 8, 65536), 1), 48 * MIB);
  });

  it('is that of an old kernel where the version is unknown', () => {
    assert.equal(slackBytes(machine('?', 8), 2), 1536 * KIB);
  });
});

describe('markSlackBytes', () => {
  it('is that of the counters before Linux 6.17, and stays from then on', () => {
    for (const kernel of ['4.18', '5.14', '6.1', '6.6', '6.16'])
      for (const cpus of [1, 2, 64, 256])
        for (const threads of [1, 16])
          assert.equal(markSlackBytes(machine(kernel, cpus), threads), slackBytes(machine(kernel, cpus), threads));
    assert.equal(markSlackBytes(machine('6.17', 2), 1), 768 * KIB);
    assert.equal(markSlackBytes(machine('6.18', 256), 1), 1536 * MIB);
  });
});

describe('thisMachine', () => {
  it('has the kernel, page size and CPUs of the host', () => {
    assert.deepEqual(thisMachine().kernel, kernelVersion(release()));
    assert.equal(thisMachine().pageSize, configured('PAGESIZE'));
    assert.ok(thisMachine().cpus >= configured('_NPROCESSORS_ONLN'));
  });

  it('is determined once', () => {
    assert.equal(thisMachine(), thisMachine());
  });
});
