import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { describe, it, type TestContext } from 'node:test';
import fc from 'fast-check';
import type * as Koffi from 'koffi' with { 'resolution-mode': 'import' };
import { Nvml } from '../../src/native/nvml';
import { parseAccounting, parseProcesses, parseUtilizationSamples } from '../../src/native/nvml-layouts';
import { isFailure, NvmlCode, type NvmlResult } from '../../src/native/nvml-library';
import { A100, GIB, MIG_A, setStub, stubLibrary, stubObstacle, TWO_GPUS, WITH_MIG } from './nvml-stub';

/** No test needs a GPU: a stub library answers. */
const obstacle = stubObstacle();
const skip = obstacle ?? false;
if (obstacle !== null) console.log(`NVML is not tested: ${obstacle}`);

function ok<T>(result: NvmlResult<T>): T {
  assert.ok(!isFailure(result), isFailure(result) ? `${result.failed}: ${result.why}` : '');
  return result;
}

function opened(t: TestContext, state: Parameters<typeof setStub>[0], build?: Parameters<typeof stubLibrary>[0]): Nvml {
  setStub(state);
  const nvml = ok(Nvml.open(stubLibrary(build)));
  t.after(() => nvml.close());
  return nvml;
}

describe('opening NVML', () => {
  it('fails where the library does not exist', () => {
    const result = Nvml.open('/nonexistent/libnvidia-ml.so.1');
    assert.ok(isFailure(result));
    assert.equal(result.failed, 'dlopen');
    assert.equal(result.code, NvmlCode.LIBRARY_NOT_FOUND);
    assert.match(result.why, /nonexistent/);
  });

  it('fails with another library', () => {
    assert.deepEqual(Nvml.open('libc.so.6'), {
      failed: 'nvmlInit_v2',
      code: NvmlCode.FUNCTION_NOT_FOUND,
      why: 'not in this version of the library',
    });
  });

  it('fails for the reason that the library gives', { skip }, () => {
    for (const [init, why] of [
      [9, 'Driver Not Loaded'],
      [18, 'Driver/library version mismatch'],
      [4, 'Insufficient Permissions'],
    ] as const) {
      setStub({ init });
      assert.deepEqual(Nvml.open(stubLibrary()), { failed: 'nvmlInit_v2', code: init, why });
    }
  });

  it('is undone by closing it', { skip }, () => {
    const koffi = createRequire(__filename)('koffi') as typeof Koffi;
    const open = koffi.load(stubLibrary()).func('int nvmlStubOpen(void)') as () => number;
    setStub(TWO_GPUS);
    const before = open();
    const nvml = ok(Nvml.open(stubLibrary()));
    assert.equal(open(), before + 1);
    nvml.close();
    assert.equal(open(), before);
    assert.equal((nvml.deviceCount() as { code?: number }).code, NvmlCode.UNINITIALIZED);
  });
});

describe('a current driver', { skip }, () => {
  it('gives all figures of a device', (t) => {
    const nvml = opened(t, TWO_GPUS);
    assert.equal(nvml.deviceCount(), 2);
    const device = ok(nvml.device(0));
    assert.equal(nvml.uuid(device), A100);
    assert.equal(nvml.index(device), 0);
    assert.deepEqual(nvml.memory(device), { total: 80 * GIB, used: 9 * GIB });
    assert.deepEqual(nvml.utilization(device), { gpu: 97, memory: 41 });
    assert.equal(nvml.powerMilliwatts(device), 312456);
    assert.equal(nvml.energyMillijoules(device), 9876543210);
    assert.equal(nvml.temperatureCelsius(device), 61);
    assert.equal(nvml.migEnabled(device), false);
  });

  it('lists a process once, however many kinds of context it has', (t) => {
    const nvml = opened(t, { ...TWO_GPUS, '0.mps': `77:${GIB} 78:-` });
    assert.deepEqual(nvml.processes(ok(nvml.device(0))), [
      { pid: 4242, memoryBytes: 8 * GIB },
      { pid: 4243, memoryBytes: GIB },
      { pid: 77, memoryBytes: GIB },
      { pid: 78, memoryBytes: null },
    ]);
    assert.deepEqual(nvml.processes(ok(nvml.device(1))), []);
  });

  it('lists more processes than the first buffer holds', (t) => {
    const pids = Array.from({ length: 700 }, (_, at) => at + 1000);
    const nvml = opened(t, {
      ...TWO_GPUS,
      '0.compute': pids.map((pid) => `${pid}:${pid}`).join(' '),
      '0.accounted': pids.map((pid) => `${pid}:1:1:0`).join(' '),
    });
    const device = ok(nvml.device(0));
    assert.deepEqual(
      ok(nvml.processes(device)).filter(({ pid, memoryBytes }) => pid === memoryBytes).length,
      pids.length,
    );
    assert.deepEqual(nvml.accountingPids(device), pids);
  });

  it('gives only the samples that are newer than the last one', (t) => {
    const nvml = opened(t, TWO_GPUS);
    const device = ok(nvml.device(0));
    assert.equal(ok(nvml.processUtilization(device, 0n)).length, 3);
    assert.deepEqual(nvml.processUtilization(device, 1000000n), [
      { pid: 4242, timestamp: 2000000n, percent: 90, memoryPercent: 0 },
      { pid: 4243, timestamp: 2000000n, percent: 5, memoryPercent: 0 },
    ]);
    assert.deepEqual(nvml.processUtilization(device, 2000000n), []);
  });

  it('gives what the driver keeps of a process in accounting mode', (t) => {
    const nvml = opened(t, { ...TWO_GPUS, '0.accounted': `99:50:${3 * GIB}:0 4242:91:-:1` });
    const device = ok(nvml.device(0));
    assert.equal(nvml.accountingEnabled(device), true);
    assert.equal(nvml.accountingEnabled(ok(nvml.device(1))), false);
    assert.deepEqual(nvml.accountingPids(device), [99, 4242]);
    assert.deepEqual(nvml.accounting(device, 99), {
      maxMemoryBytes: 3 * GIB,
      isRunning: false,
    });
    assert.equal(ok(nvml.accounting(device, 4242)).maxMemoryBytes, null);
    assert.equal((nvml.accounting(device, 5) as { code?: number }).code, NvmlCode.NOT_FOUND);
  });

  it('lists MIG instances where the device has some', (t) => {
    const nvml = opened(t, WITH_MIG);
    const device = ok(nvml.device(0));
    assert.equal(nvml.migEnabled(device), true);
    const migs = ok(nvml.migDevices(device));
    assert.deepEqual([...migs.keys()], [1, 4]);
    const [first = 0n, second = 0n] = migs.values();
    assert.equal(nvml.uuid(first), MIG_A);
    assert.deepEqual(nvml.processes(first), [{ pid: 4242, memoryBytes: 2 * GIB }]);
    assert.equal(nvml.migMemoryBytes(second), 9856 * 1024 ** 2);
    assert.equal((nvml.utilization(first) as { code?: number }).code, NvmlCode.NOT_SUPPORTED);
    assert.equal((nvml.migEnabled(ok(nvml.device(1))) as { code?: number }).code, NvmlCode.NOT_SUPPORTED);
  });

  it('gives every error as a value', (t) => {
    const nvml = opened(t, TWO_GPUS);
    const device = ok(nvml.device(0));
    for (const [code, why] of [
      [NvmlCode.GPU_IS_LOST, 'GPU is lost'],
      [NvmlCode.NOT_SUPPORTED, 'Not Supported'],
      [NvmlCode.NO_PERMISSION, 'Insufficient Permissions'],
      [NvmlCode.UNKNOWN, 'Unknown Error'],
    ] as const) {
      setStub({ ...TWO_GPUS, '0.error': code });
      for (const call of [
        () => nvml.uuid(device),
        () => nvml.index(device),
        () => nvml.memory(device),
        () => nvml.utilization(device),
        () => nvml.powerMilliwatts(device),
        () => nvml.energyMillijoules(device),
        () => nvml.temperatureCelsius(device),
        () => nvml.processes(device),
        () => nvml.accountingEnabled(device),
        () => nvml.accountingPids(device),
        () => nvml.migEnabled(device),
        () => nvml.migDevices(device),
        () => nvml.migMemoryBytes(device),
        () => nvml.processUtilization(device, 0n),
        () => nvml.accounting(device, 1),
      ]) {
        const result = call();
        assert.ok(isFailure(result), String(call));
        assert.equal(result.code, code);
        assert.equal(result.why, why);
      }
    }
    assert.equal((nvml.device(7) as { code?: number }).code, NvmlCode.INVALID_ARGUMENT);
  });
});

describe('other drivers', { skip }, () => {
  it('give FUNCTION_NOT_FOUND for what an old driver lacks, and the older form of the rest', (t) => {
    const nvml = opened(t, TWO_GPUS, 'old');
    const device = ok(nvml.device(0));
    // The older call counts what the driver reserves as used.
    assert.deepEqual(nvml.memory(device), { total: 80 * GIB, used: 9.5 * GIB });
    assert.deepEqual(nvml.processes(device), [
      { pid: 4242, memoryBytes: 8 * GIB },
      { pid: 4243, memoryBytes: GIB },
    ]);
    for (const result of [
      nvml.energyMillijoules(device),
      nvml.processUtilization(device, 0n),
      nvml.migEnabled(device),
      nvml.migDevices(device),
    ]) {
      assert.ok(isFailure(result));
      assert.equal(result.code, NvmlCode.FUNCTION_NOT_FOUND);
    }
  });

  it('are read where entries are longer than the header says', (t) => {
    const nvml = opened(t, { ...TWO_GPUS, '0.compute': `4242:${GIB} 4243:${2 * GIB} 4244:${3 * GIB}` }, 'wide');
    assert.deepEqual(nvml.processes(ok(nvml.device(0))), [
      { pid: 4242, memoryBytes: GIB },
      { pid: 4243, memoryBytes: 2 * GIB },
      { pid: 4244, memoryBytes: 3 * GIB },
    ]);
  });
});

describe('the parsers of NVML structures', () => {
  const bytes = fc.uint8Array({ maxLength: 400 }).map((array) => Buffer.from(array));

  it('return only plausible processes from garbage', () => {
    fc.assert(
      fc.property(bytes, fc.nat(70000), fc.constantFrom('v1', 'v2', 'v3'), (buffer, count, layout) => {
        const found = parseProcesses(buffer, count, layout);
        return (
          found.length <= buffer.length / 16 &&
          found.every(({ pid, memoryBytes }) => pid > 0 && pid <= 4194304 && (memoryBytes ?? 0) >= 0)
        );
      }),
    );
  });

  it('return only plausible samples from garbage', () => {
    fc.assert(
      fc.property(bytes, fc.nat(70000), (buffer, count) =>
        parseUtilizationSamples(buffer, count).every(({ pid, percent }) => pid > 0 && percent <= 100),
      ),
    );
  });

  it('read all ones as "not available"', () => {
    assert.deepEqual(parseAccounting(Buffer.alloc(56, 0xff)), {
      maxMemoryBytes: null,
      isRunning: true,
    });
  });
});
