import type { OptionValue } from '../../../src/record/setting';
import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { packageRoot } from '../../../src/base/package-root';
import { nvidia } from '../../../src/sources/node/nvidia';
import {
  isUnavailable,
  THIS_MACHINE,
  type OpenSource,
  type Reading,
  type Unavailable,
} from '../../../src/sources/source';
import {
  A100,
  GIB,
  MIG_A,
  MIG_B,
  setStub,
  stubLibrary,
  stubObstacle,
  T4,
  TWO_GPUS,
  WITH_MIG,
} from '../../native/nvml-stub';
import { temporaryDirectory } from '../../support/temporary-directory';

/** No GPU was at hand: the library is a stub, nvidia-smi a shell script that prints what real ones printed. */
const obstacle = stubObstacle();
const skip = obstacle ?? false;
if (obstacle !== null) console.log(`the source nvidia is not tested over NVML: ${obstacle}`);

const place = (options: Record<string, OptionValue>) => ({
  ...THIS_MACHINE,
  options: { ...nvidia.options, ...options },
});

function opened(t: TestContext, options: Record<string, OptionValue>): OpenSource {
  const source = nvidia.open(place(options));
  assert.ok(!isUnavailable(source), JSON.stringify(source));
  t.after(source.close);
  return source;
}

function readings(result: readonly Reading[] | Unavailable): readonly Reading[] {
  assert.ok(!isUnavailable(result), JSON.stringify(result));
  return result;
}

/** "metric instance pid": value */
const table = (result: readonly Reading[] | Unavailable): Readonly<Record<string, number>> =>
  Object.fromEntries(
    readings(result).map(({ metric, instance, pid, value }) => [
      [metric.replace('nvidia_', ''), instance, ...(pid === undefined ? [] : [pid])].join(' '),
      value,
    ]),
  );

describe('nvidia by NVML', { skip }, () => {
  it('reads devices and processes, and declares every metric that it reads', (t) => {
    setStub(TWO_GPUS);
    const result = opened(t, { library: stubLibrary() }).read();
    assert.deepEqual(table(result), {
      [`index ${A100}`]: 0,
      [`index ${T4}`]: 1,
      [`memory_total_bytes ${A100}`]: 80 * GIB,
      [`memory_used_bytes ${A100}`]: 9 * GIB,
      [`utilization_percent ${A100}`]: 97,
      [`memory_utilization_percent ${A100}`]: 41,
      [`power_watts ${A100}`]: 312.456,
      [`energy_joules ${A100}`]: 9876543.21,
      [`temperature_celsius ${A100}`]: 61,
      [`process_memory_bytes ${A100} 4242`]: 8 * GIB,
      // The newest sample before the first reading counts.
      [`process_utilization_percent ${A100} 4242`]: 90,
      [`process_peak_memory_bytes ${A100} 4242`]: 12 * GIB,
      [`process_memory_bytes ${A100} 4243`]: GIB,
      [`process_utilization_percent ${A100} 4243`]: 5,
      [`memory_total_bytes ${T4}`]: 16 * GIB,
      [`memory_used_bytes ${T4}`]: 0,
      [`utilization_percent ${T4}`]: 0,
      [`memory_utilization_percent ${T4}`]: 0,
      [`power_watts ${T4}`]: 9.5,
      [`temperature_celsius ${T4}`]: 31,
    });
    const declared = new Set(nvidia.metrics.map(({ name }) => name));
    assert.ok(readings(result).every(({ metric }) => declared.has(metric)));
  });

  it('takes the mean of the samples since the last reading; a process without samples is at 0 %', (t) => {
    setStub(TWO_GPUS);
    const source = opened(t, { library: stubLibrary() });
    source.read();
    setStub({ ...TWO_GPUS, '0.samples': '4242:1000000:80 4242:3000000:10 4242:4000000:20' });
    const next = table(source.read());
    assert.equal(next[`process_utilization_percent ${A100} 4242`], 15);
    assert.equal(next[`process_utilization_percent ${A100} 4243`], 0);
  });

  it('reports the peak of a process that ended between two readings once, and none of long ago', (t) => {
    setStub(TWO_GPUS);
    const source = opened(t, { library: stubLibrary() });
    const peak = (pid: number): number | undefined => table(source.read())[`process_peak_memory_bytes ${A100} ${pid}`];
    assert.equal(peak(99), undefined);
    const ended = `99:50:${3 * GIB}:0 4242:91:${13 * GIB}:0 5000:10:${2 * GIB}:0`;
    const after = { ...TWO_GPUS, '0.compute': `4243:${GIB}`, '0.accounted': ended };
    setStub(after);
    const seen = table(source.read());
    assert.equal(seen[`process_peak_memory_bytes ${A100} 4242`], 13 * GIB);
    // This process started and ended between the two readings.
    assert.equal(seen[`process_peak_memory_bytes ${A100} 5000`], 2 * GIB);
    assert.equal(seen[`process_peak_memory_bytes ${A100} 99`], undefined);
    assert.equal(peak(4242), undefined);
    // Another process with the same pid.
    setStub({ ...after, '0.compute': `4242:${GIB}`, '0.accounted': `4242:1:${GIB}:1` });
    assert.equal(peak(4242), GIB);
  });

  it('reads MIG instances, with the processes on each', (t) => {
    setStub(WITH_MIG);
    const seen = table(opened(t, { library: stubLibrary() }).read());
    assert.equal(seen[`memory_used_bytes ${MIG_A}`], 2 * GIB);
    assert.equal(seen[`process_memory_bytes ${MIG_A} 4242`], 2 * GIB);
    assert.equal(seen[`memory_total_bytes ${MIG_B}`], 9856 * 1024 ** 2);
    assert.equal(seen[`utilization_percent ${MIG_A}`], undefined);
    assert.equal(seen[`utilization_percent ${A100}`], undefined);
    assert.equal(seen[`power_watts ${A100}`], 312.456);
    assert.deepEqual([seen[`index ${A100}`], seen[`parent_index ${A100}`]], [0, undefined]);
    assert.deepEqual([seen[`index ${MIG_A}`], seen[`parent_index ${MIG_A}`]], [1, 0]);
    assert.deepEqual([seen[`index ${MIG_B}`], seen[`parent_index ${MIG_B}`]], [4, 0]);
    assert.ok(!Object.keys(seen).some((key) => /^process_\S+ GPU/.test(key)));
  });

  it('leaves out a device that vanishes, and reads it again when it is back', (t) => {
    setStub(TWO_GPUS);
    const source = opened(t, { library: stubLibrary() });
    const instances = (): readonly string[] => [...new Set(readings(source.read()).map(({ instance }) => instance))];
    assert.deepEqual(instances(), [A100, T4]);
    setStub({ ...TWO_GPUS, '0.error': 15 });
    assert.deepEqual(instances(), [T4]);
    const silent = [
      'MemoryInfo',
      'MemoryInfo_v2',
      'UtilizationRates',
      'PowerUsage',
      'Temperature',
      'TotalEnergyConsumption',
    ];
    const lost = silent.map((name): [string, number] => [`0.nvmlDeviceGet${name}.error`, 15]);
    setStub({ ...TWO_GPUS, ...Object.fromEntries(lost) });
    assert.deepEqual(instances(), [T4]);
    setStub({ ...TWO_GPUS, count: 1, '0.error': 15 });
    assert.deepEqual(source.read(), { unavailable: 'nvmlDeviceGetHandleByIndex_v2: GPU is lost', fix: null });
    setStub({ ...TWO_GPUS, init: 9 });
    assert.deepEqual(source.read(), { unavailable: 'nvmlInit_v2: Driver Not Loaded', fix: null });
    setStub(TWO_GPUS);
    assert.deepEqual(instances(), [A100, T4]);
  });

  it('leaves out figures that it may not read', (t) => {
    setStub({
      ...TWO_GPUS,
      '0.nvmlDeviceGetAccountingPids.error': 4,
      '0.nvmlDeviceGetProcessUtilization.error': 4,
      '0.nvmlDeviceGetPowerUsage.error': 999,
    });
    const seen = table(opened(t, { library: stubLibrary() }).read());
    assert.equal(seen[`process_memory_bytes ${A100} 4242`], 8 * GIB);
    assert.equal(seen[`process_utilization_percent ${A100} 4242`], undefined);
    assert.equal(seen[`power_watts ${A100}`], undefined);
    assert.equal(seen[`temperature_celsius ${A100}`], 61);
  });

  it('reads an old driver', (t) => {
    setStub(TWO_GPUS);
    const seen = table(opened(t, { library: stubLibrary('old') }).read());
    assert.equal(seen[`energy_joules ${A100}`], undefined);
    assert.equal(seen[`process_memory_bytes ${A100} 4242`], 8 * GIB);
  });

  it('closes the library between readings where keep_open is off', (t) => {
    setStub(TWO_GPUS);
    const source = opened(t, { library: stubLibrary(), keep_open: false });
    source.read();
    setStub({ ...TWO_GPUS, init: 9 });
    assert.ok(isUnavailable(source.read()));
  });

  it('says why it is unavailable', () => {
    const why = (state: Parameters<typeof setStub>[0]): Unavailable => {
      setStub(state);
      const source = nvidia.open(place({ library: stubLibrary() }));
      assert.ok(isUnavailable(source));
      return source;
    };
    assert.equal(why({ init: 18 }).unavailable, 'nvmlInit_v2: Driver/library version mismatch');
    assert.match(why({ init: 18 }).fix ?? '', /reload the kernel module/);
    assert.match(why({ init: 4 }).fix ?? '', /nvidiactl/);
    assert.deepEqual(why({ count: 0 }), { unavailable: 'the NVIDIA driver has no GPU', fix: null });
  });
});

describe('nvidia by nvidia-smi', () => {
  const fixtures = join(packageRoot(), 'test', 'fixtures', 'nvidia-smi');
  const library = '/nonexistent/libnvidia-ml.so.1';

  function smi(script: string): string {
    const directory = temporaryDirectory();
    const path = join(directory, 'nvidia-smi');
    writeFileSync(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    return path;
  }
  const printing = (driver: string): string =>
    smi(
      `case "$1" in
        --query-gpu=index,uuid,*) cat ${fixtures}/${driver}-gpus.csv ;;
        --query-compute-apps=gpu_uuid,pid,used_memory) cat ${fixtures}/${driver}-processes.csv ;;
        *) exit 2 ;;
      esac
      [ "$2" = --format=csv,noheader,nounits ]`,
    );

  it('reads the output of nvidia-smi where the library is missing', (t) => {
    const seen = table(opened(t, { library, smi: printing('550') }).read());
    assert.equal(seen['memory_used_bytes GPU-5c89852c-d268-c3f3-1b07-005d5ae1dc3f'], 41873 * 1024 ** 2);
    assert.equal(seen['process_memory_bytes GPU-5c89852c-d268-c3f3-1b07-005d5ae1dc3f 918273'], 40 * GIB);
    assert.equal(seen['utilization_percent GPU-9d3b7a10-0c44-4f2e-8b6d-33aa44bb55cc'], undefined);
    const old = table(opened(t, { library, smi: printing('390') }).read());
    assert.equal(old['power_watts GPU-a1b2c3d4-1111-2222-3333-444455556666'], 213.57);
    assert.deepEqual(
      Object.entries(old)
        .filter(([key]) => key.startsWith('index '))
        .map(([, index]) => index),
      [0, 1, 2],
    );
  });

  it('passes on the message of nvidia-smi, and waits no longer than smi_timeout', () => {
    const why = (script: string, seconds = 60): string => {
      const source = nvidia.open(place({ library, smi: smi(script), smi_timeout: seconds }));
      assert.ok(isUnavailable(source));
      return source.unavailable;
    };
    assert.match(why(`cat ${fixtures}/no-driver.txt; exit 9`), /nvidia-smi: NVIDIA-SMI has failed because/);
    assert.match(why('echo No devices were found'), /nvidia-smi: No devices were found$/);
    assert.match(why('exit 6'), /nvidia-smi: exit status 6$/);
    assert.match(why('head -c 100000 /dev/urandom; exit 1'), /nvidia-smi: /);
    const start = performance.now();
    assert.match(why('exec sleep 600', 0.5), /no answer within 0\.5 s$/);
    assert.ok(performance.now() - start < 60_000);
    assert.match(why('exec cat /dev/zero', 0.5), /ENOBUFS|no answer/);
  });

  it('reads the GPUs that answer when another GPU is lost', (t) => {
    const path = smi(`case "$1" in --query-gpu*) head -n 1 ${fixtures}/550-gpus.csv; esac; exit 15`);
    assert.equal(
      table(opened(t, { library, smi: path }).read())['power_watts GPU-5c89852c-d268-c3f3-1b07-005d5ae1dc3f'],
      312.46,
    );
  });

  it('is unavailable without library and nvidia-smi', () => {
    const source = nvidia.open(place({ library, smi: '' }));
    assert.ok(isUnavailable(source));
    assert.match(source.unavailable, existsSync('/proc/driver/nvidia') ? /can't be loaded/ : /^no NVIDIA driver$/);
    // A relative path would depend on the working directory.
    assert.ok(isUnavailable(nvidia.open(place({ library, smi: 'nvidia-smi' }))));
  });
});
