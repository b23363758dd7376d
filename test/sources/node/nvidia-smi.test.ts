import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { packageRoot } from '../../../src/base/package-root';
import { parseSmiGpus, parseSmiProcesses, smiMessage } from '../../../src/sources/node/nvidia-smi';

const MIB = 1024 ** 2;

/** Output of nvidia-smi of two drivers: 390 with GeForce cards, 550 with A100s, one divided by MIG, one broken. */
const fixture = (name: string): string =>
  readFileSync(join(packageRoot(), 'test', 'fixtures', 'nvidia-smi', name), 'utf8');

const TEXTS = ['390-gpus.csv', '390-processes.csv', '550-gpus.csv', '550-processes.csv', 'no-driver.txt'].map(fixture);

describe('parseSmiGpus', () => {
  it('reads an old driver', () => {
    const [first, second, third, ...more] = parseSmiGpus(fixture('390-gpus.csv'));
    assert.deepEqual(more, []);
    assert.deepEqual(first, {
      gpu: { id: 'GPU-a1b2c3d4-1111-2222-3333-444455556666', vendor: 'nvidia', index: 0, parent: null, aliases: [] },
      memoryTotalBytes: 11178 * MIB,
      memoryUsedBytes: 10621 * MIB,
      utilizationPercent: 100,
      memoryUtilizationPercent: 63,
      powerWatts: 213.57,
      temperatureCelsius: 84,
    });
    assert.equal(second?.utilizationPercent, null);
    assert.equal(second.powerWatts, null);
    assert.equal(second.memoryUsedBytes, 46 * MIB);
    assert.equal(third?.temperatureCelsius, null);
    assert.equal(third.powerWatts, null);
    assert.equal(third.utilizationPercent, 0);
  });

  it('reads a newer driver', () => {
    const gpus = parseSmiGpus(fixture('550-gpus.csv'));
    assert.deepEqual(
      gpus.map(({ gpu, memoryUsedBytes, utilizationPercent }) => [gpu.index, memoryUsedBytes, utilizationPercent]),
      [
        [0, 41873 * MIB, 97],
        [1, 1201 * MIB, null],
        [2, null, null],
      ],
    );
  });

  it('reads figures with units', () => {
    const [gpu] = parseSmiGpus('3, GPU-12345678, 100 MiB, 50 MiB, 7 %, 1 %, 8.25 W, 40\r\n');
    assert.equal(gpu?.memoryUsedBytes, 50 * MIB);
    assert.equal(gpu.powerWatts, 8.25);
    assert.equal(gpu.temperatureCelsius, 40);
  });

  it('finds no GPU in messages', () => {
    assert.deepEqual(parseSmiGpus(fixture('no-driver.txt')), []);
    assert.match(smiMessage(fixture('no-driver.txt')) ?? '', /^NVIDIA-SMI has failed because/);
    assert.equal(smiMessage('\n \n'), null);
    assert.equal(smiMessage('\x1b[31mred\u009b'), '[31mred');
  });
});

describe('parseSmiProcesses', () => {
  it('reads both drivers', () => {
    assert.deepEqual(
      parseSmiProcesses(fixture('390-processes.csv')).map(({ pid, memoryBytes }) => [pid, memoryBytes]),
      [
        [20871, 10611 * MIB],
        [1533, null],
      ],
    );
    assert.deepEqual(
      parseSmiProcesses(fixture('550-processes.csv')).map(({ pid, memoryBytes }) => [pid, memoryBytes]),
      [
        [918273, 40960 * MIB],
        [918299, 896 * MIB],
        [918310, null],
      ],
    );
  });

  it('sums the contexts of one process', () => {
    const [one, ...more] = parseSmiProcesses('GPU-1234, 7, 10\nGPU-1234, 7, [N/A]\nGPU-1234, 7, 5\n');
    assert.equal(one?.memoryBytes, 15 * MIB);
    assert.deepEqual(more, []);
  });
});

describe('garbage from nvidia-smi', () => {
  const piece = fc.oneof(
    fc.string({ maxLength: 30 }),
    fc.constantFrom(', ', '\n', 'GPU-12345678', '9'.repeat(30), '-1', '1e9', 'NaN', '[N/A]', 'ERR!', '0x10', '101'),
    fc
      .tuple(fc.constantFrom(...TEXTS), fc.nat(600), fc.nat(300))
      .map(([text, from, length]) => text.slice(from, from + length)),
  );
  const text = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(''));

  it('yields GPUs with plausible values only', () => {
    fc.assert(
      fc.property(text, (given) => {
        const gpus = parseSmiGpus(given);
        assert.equal(new Set(gpus.map(({ gpu }) => gpu.id)).size, gpus.length);
        for (const { gpu, ...values } of gpus) {
          assert.match(gpu.id, /^(GPU|MIG)-/);
          for (const value of Object.values(values))
            assert.ok(value === null || (Number.isFinite(value) && value >= 0));
          assert.ok((values.utilizationPercent ?? 0) <= 100);
        }
      }),
    );
  });

  it('yields processes with plausible pids only', () => {
    fc.assert(
      fc.property(text, (given) => {
        for (const { pid, memoryBytes } of parseSmiProcesses(given)) {
          assert.ok(Number.isInteger(pid) && pid > 0 && pid <= 4 * MIB);
          assert.ok(memoryBytes === null || (Number.isSafeInteger(Math.round(memoryBytes)) && memoryBytes >= 0));
        }
        const message = smiMessage(given);
        assert.ok(message === null || !/\p{Cc}/u.test(message));
      }),
    );
  });
});
