import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { jobNetwork } from '../../../src/sources/job/network';
import { parseNetDev } from '../../../src/sources/node/network';
import { isUnavailable, type Reading, type Unavailable } from '../../../src/sources/source';
import { packageRoot } from '../../../src/base/package-root';
import { temporaryDirectory } from '../../support/temporary-directory';
import { garbage } from '../proc/fixtures';
import { placeOf } from './fixtures';
import { until } from '../../support/until';

const file = (name: string): string => join(packageRoot(), 'test', 'fixtures', 'jobnetwork', name);

const NODE = 'net:[4026531833]';

/** A /proc of processes in network namespaces, each with one of the fixtures as its net/dev. */
function procOf(processes: Readonly<Record<string, readonly [namespace: string, dev: string]>>): string {
  const proc = join(temporaryDirectory(), 'proc');
  for (const [pid, [namespace, dev]] of Object.entries(processes)) {
    mkdirSync(join(proc, pid, 'ns'), { recursive: true });
    mkdirSync(join(proc, pid, 'net'));
    symlinkSync(namespace, join(proc, pid, 'ns', 'net'));
    cpSync(file(dev), join(proc, pid, 'net', 'dev'));
  }
  return proc;
}

function readJob(proc: string, pids: readonly number[]): readonly Reading[] | Unavailable {
  const source = jobNetwork.open(placeOf(jobNetwork, { proc }));
  assert.ok(!isUnavailable(source));
  try {
    return source.read(pids);
  } finally {
    source.close();
  }
}

describe('parseNetDev of a namespace', () => {
  const interfaces = (name: string): readonly (readonly [string, number, number])[] =>
    parseNetDev(readFileSync(file(name), 'latin1')).map((found) => [
      found.name,
      found.receivedBytes,
      found.receivedErrors + found.receivedDropped + found.sentErrors + found.sentDropped,
    ]);

  it('reads a container of Linux 6.1, and an old kernel that puts no blank after the colon', () => {
    assert.deepEqual(interfaces('linux-6.1-container'), [
      ['lo', 6486, 0],
      ['eth0', 9_913_332, 15],
      ['tap0', 0, 0],
    ]);
    assert.deepEqual(interfaces('linux-2.6.32-vlan'), [
      ['lo', 64_860, 0],
      ['eth0', 18_446_744_073, 0],
      ['eth0.12', 991_333_273, 0],
      ['eth0:1', 5, 0],
    ]);
  });

  it('yields names and finite counters, none negative, from garbage', () => {
    const texts = ['linux-6.1-container', 'linux-2.6.32-vlan'].map((name) => readFileSync(file(name)));
    fc.assert(
      fc.property(garbage(...texts), (bytes) => {
        for (const { name, ...counters } of parseNetDev(bytes.toString('latin1'))) {
          assert.ok(name !== '');
          for (const value of Object.values(counters)) assert.ok(Number.isFinite(value) && value >= 0);
        }
      }),
    );
  });
});

describe('jobnetwork', () => {
  it('reports at most 256 interfaces of a job that makes namespaces and interfaces without end', () => {
    const proc = procOf({ self: [NODE, 'linux-2.6.32-vlan'] });
    const source = jobNetwork.open(placeOf(jobNetwork, { proc }));
    assert.ok(!isUnavailable(source));
    const seen = new Set<string>();
    for (let pid = 10; pid < 60; pid++) {
      mkdirSync(join(proc, String(pid), 'ns'), { recursive: true });
      mkdirSync(join(proc, String(pid), 'net'));
      symlinkSync(`net:[${pid}]`, join(proc, String(pid), 'ns', 'net'));
      const lines = Array.from({ length: 50 }, (_, index) => `  dummy${index}: 1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0\n`);
      writeFileSync(join(proc, String(pid), 'net', 'dev'), lines.join(''));
      const readings = source.read([pid]);
      assert.ok(!isUnavailable(readings));
      for (const { instance } of readings) seen.add(instance);
    }
    assert.equal(seen.size, 256);
    assert.ok(seen.has('10/dummy0'));
    source.close();
  });

  it('reads each namespace of the job once', () => {
    const proc = procOf({
      self: [NODE, 'linux-2.6.32-vlan'],
      1: [NODE, 'linux-2.6.32-vlan'],
      10: ['net:[4026532177]', 'linux-6.1-container'],
      11: ['net:[4026532177]', 'linux-6.1-container'],
      12: [NODE, 'linux-2.6.32-vlan'],
      13: ['net:[4026532299]', 'linux-6.1-container'],
    });
    const readings = readJob(proc, [10, 11, 12, 13, 99]);
    assert.ok(!isUnavailable(readings));
    const received = readings.filter(({ metric }) => metric === 'jobnetwork_received_bytes');
    assert.deepEqual(
      received.map(({ instance, value }) => [instance, value]),
      [
        ['4026532177/eth0', 9_913_332],
        ['4026532177/tap0', 0],
        ['4026532299/eth0', 9_913_332],
        ['4026532299/tap0', 0],
      ],
    );
    assert.equal(readings.find(({ metric }) => metric === 'jobnetwork_errors')?.value, 15);
    for (const { metric } of readings)
      assert.ok(
        jobNetwork.metrics.some(({ name }) => name === metric),
        metric,
      );
  });

  it("says that a job shares the node's namespace: that of process 1 or of the sampler", () => {
    const proc = procOf({
      self: ['net:[4026532000]', 'linux-6.1-container'],
      1: [NODE, 'linux-2.6.32-vlan'],
      10: [NODE, 'linux-2.6.32-vlan'],
      11: ['net:[4026532000]', 'linux-6.1-container'],
    });
    assert.deepEqual(readJob(proc, [10, 11]), {
      unavailable: "the job shares the node's network namespace",
      fix: null,
    });
  });

  it('reports nothing for a namespace with the loopback only', () => {
    const proc = procOf({
      self: [NODE, 'linux-2.6.32-vlan'],
      10: ['net:[4026532177]', 'linux-6.1-container'],
    });
    writeFileSync(
      join(proc, '10', 'net', 'dev'),
      '    lo:    6486      60    0    0    0     0          0         0     6486      60    0    0    0     0       0          0\n',
    );
    assert.deepEqual(readJob(proc, [10]), []);
  });

  it('is unavailable on a kernel without network namespaces', () => {
    const source = jobNetwork.open(placeOf(jobNetwork, { proc: temporaryDirectory() }));
    assert.ok(isUnavailable(source));
  });

  it('reads a real process in a namespace of its own', async (t) => {
    const can = spawnSync('unshare', ['-n', 'true'], { encoding: 'utf8' });
    if (can.status !== 0) {
      t.skip(`no new network namespace here: ${can.error?.message ?? can.stderr.trim()}`);
      return;
    }
    const child = spawn('unshare', ['-n', 'sleep', '120'], { stdio: 'ignore' });
    t.after(async () => {
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    });
    const pid = child.pid ?? 0;
    await until(() => !isUnavailable(readJob('/proc', [pid])), 'the process outside our namespace');
    // Some kernels make tunnel devices in each new namespace; nothing has gone through them.
    const readings = readJob('/proc', [pid, process.pid]);
    assert.ok(!isUnavailable(readings));
    for (const { metric, value } of readings) assert.equal(value, 0, metric);
    assert.ok(isUnavailable(readJob('/proc', [process.pid])));
  });
});
