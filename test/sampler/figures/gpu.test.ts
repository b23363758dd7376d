import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { packageRoot } from '../../../src/base/package-root';
import { DEFAULT_SETTINGS } from '../../../src/record/settings';
import { gpuFigures } from '../../../src/sampler/figures/gpu';
import type { FigurePart, Look } from '../../../src/sampler/figures/part';
import type { Reading } from '../../../src/sources/source';
import { newSeriesBuffer } from '../../../src/sampler/series/series-buffer';
import { runOf } from '../../support/runs';
import { temporaryDirectory } from '../../support/temporary-directory';

const ADDRESS = '0000:43:00.0';
const PID = 4_200_001;
const BYTES = 2 ** 21;
const GAP_MS = 100;

function figures(environment: string): FigurePart {
  const spool = temporaryDirectory();
  writeFileSync(join(spool, 'environment'), environment);
  const context = {
    run: runOf({ job: 7, spool }),
    settings: DEFAULT_SETTINGS,
    series: newSeriesBuffer([]),
    begunMs: 0,
    before: {},
  };
  return gpuFigures(context, join(packageRoot(), 'test/fixtures/drm/amdgpu-linux-6.8/sys'));
}

const readNode = (
  part: FigurePart,
  gpu: readonly Reading[] = [{ metric: 'drm_vendor', instance: ADDRESS, value: 0x1002 }],
): unknown => part.node?.({ kind: 'node', id: null, charges: null, gpu });

describe('gpuFigures', () => {
  it('count an AMD card as held whether the environment names its index or its unique id', () => {
    for (const name of ['0', 'GPU-a3c1d0e98f765432']) {
      const part = figures(`ROCR_VISIBLE_DEVICES=${name}\n`);
      readNode(part);
      assert.deepEqual([part.metrics().gpu_held, part.notes()], [1, []], name);
    }
  });

  it("know the job's processes at several readings of the node between two of the job, and after their end", () => {
    const of = (what: string, value: number, pid?: number): Reading => ({
      ...{ metric: `nvidia_${what}`, instance: 'GPU-1', value },
      ...(pid === undefined ? {} : { pid }),
    });
    const there = [of('index', 0), of('utilization_percent', 90), of('process_memory_bytes', BYTES, PID)];
    const part = figures('CUDA_VISIBLE_DEVICES=0\n');
    const lookAt = (pids: readonly number[]): unknown =>
      part.look?.({
        readings: { counters: new Map(pids.map((pid) => [`${pid}.1`, {}])) },
        link: null,
      } as unknown as Look);
    lookAt([PID]);
    for (const readings of [there, there]) {
      readNode(part, readings);
      assert.equal(part.charted?.().gpu_percent, 90);
    }
    lookAt([]);
    readNode(part, there);
    // The driver reports a process that has ended only once.
    readNode(part, [of('index', 0), of('process_peak_memory_bytes', 4 * BYTES, PID)]);
    assert.equal(part.metrics().gpu_memory_peak_bytes, 4 * BYTES);
  });

  it('count no use for time in which no GPU could be read', async () => {
    const there = ['index', 'utilization_percent'].map((what, at) => ({
      ...{ metric: `nvidia_${what}`, instance: 'GPU-1', value: 90 * at },
    }));
    const part = figures('CUDA_VISIBLE_DEVICES=0\n');
    readNode(part, there);
    readNode(part, []);
    await sleep(GAP_MS);
    readNode(part, there);
    const { gpu_held_time_seconds: held = 0, gpu_used_time_seconds: used = 0 } = part.metrics();
    assert.ok(held * 1000 >= GAP_MS && used <= held - GAP_MS / 1000 + 0.002, `held ${held} s, used ${used} s`);
  });

  it('ask the listener for DRM clients where the node has an AMD card, and count what they hold', async () => {
    const part = figures('');
    const asked: unknown[] = [];
    const look = {
      readings: { counters: new Map([[`${PID}.1`, {}]]) },
      link: {
        read: (source: string, pids: readonly number[]) => {
          asked.push([source, pids]);
          const readings = [{ metric: 'drmprocess_memory_bytes', instance: ADDRESS, value: BYTES, pid: PID }];
          return Promise.resolve({ kind: 'values', id: 1, readings, unavailable: null });
        },
      },
    } as unknown as Look;
    part.look?.(look);
    readNode(part);
    assert.deepEqual(asked, [['drmprocess', [PID]]]);
    // The answer arrives.
    await new Promise((resolve) => setImmediate(resolve));
    part.look?.(look);
    readNode(part);
    assert.deepEqual([part.metrics().gpu_held, part.metrics().gpu_memory_peak_bytes], [1, BYTES]);
  });
});
