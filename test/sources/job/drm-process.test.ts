import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { packageRoot } from '../../../src/base/package-root';
import { drmProcess } from '../../../src/sources/job/drm-process';
import { isUnavailable, THIS_MACHINE, type Place } from '../../../src/sources/source';
import { temporaryDirectory } from '../../support/temporary-directory';

/** No GPU was at hand: a /proc is built from texts that kernels print in fdinfo. */
const texts = join(packageRoot(), 'test', 'fixtures', 'drm', 'fdinfo');
const textOf = (name: string): string => readFileSync(join(texts, name), 'utf8');
const MIB = 1024 ** 2;

function machine(options: Place['options'] = {}, stepMs = 0) {
  const root = temporaryDirectory();
  mkdirSync(join(root, 'dev/dri'), { recursive: true });
  const clock = { ms: 1000 };
  const proc = join(root, 'proc');
  const source = drmProcess.open({
    ...THIS_MACHINE,
    proc,
    root: `${root}/`,
    now: () => (clock.ms += stepMs),
    options: { ...drmProcess.options, ...options },
  });
  assert.ok(!isUnavailable(source));
  return {
    clock,
    hold: (pid: number, fd: number, link: string, text: string): void => {
      for (const directory of ['fd', 'fdinfo']) mkdirSync(join(proc, String(pid), directory), { recursive: true });
      if (!existsSync(join(proc, String(pid), 'fdinfo', String(fd))))
        symlinkSync(link, join(proc, String(pid), 'fd', String(fd)));
      writeFileSync(join(proc, String(pid), 'fdinfo', String(fd)), text);
    },
    end: (pid: number): void => rmSync(join(proc, String(pid)), { recursive: true }),
    release: (pid: number, fd: number): void => {
      for (const directory of ['fd', 'fdinfo']) rmSync(join(proc, String(pid), directory, String(fd)));
    },
    asked: (pids: readonly number[]): readonly number[] => {
      const pidsAsked: number[] = [];
      source.read(pids, (pid) => pidsAsked.push(pid));
      return pidsAsked;
    },
    read: (...pids: readonly number[]): Readonly<Record<string, number>> => {
      const result = source.read(pids);
      assert.ok(!isUnavailable(result));
      return Object.fromEntries(
        result.map(({ metric, instance, pid, value }) => [
          `${metric.replace('drmprocess_', '')} ${instance} ${pid ?? ''}`,
          value,
        ]),
      );
    },
  };
}

describe('drmprocess', () => {
  it('counts a client once, and only descriptors below /dev/dri', () => {
    const { hold, read } = machine();
    const text = textOf('amdgpu-6.8');
    hold(10, 3, '/dev/dri/renderD129', text);
    hold(10, 4, '/dev/dri/card2', text);
    hold(11, 3, '/dev/dri/renderD129', text);
    hold(11, 5, '/dev/null', textOf('i915-6.6'));
    hold(11, 6, '/dev/dri/renderD130', textOf('i915-6.6'));
    assert.deepEqual(read(10, 11, 12), {
      'memory_bytes 0000:c1:00.0 10': 48128 * MIB,
      'system_memory_bytes 0000:c1:00.0 10': 30 * MIB,
      'memory_bytes 0000:4d:00.0 11': 1536 * MIB,
      'system_memory_bytes 0000:4d:00.0 11': 64 * 1024,
      'busy_seconds 0000:c1:00.0/gfx 10': 1.83898118,
      'busy_seconds 0000:c1:00.0/compute 10': 98.765432109,
      'busy_seconds 0000:c1:00.0/dec 10': 0,
      'busy_seconds 0000:4d:00.0/render 11': 9.288864723,
      'busy_seconds 0000:4d:00.0/copy 11': 2.035071108,
      'busy_seconds 0000:4d:00.0/video 11': 0,
      'busy_seconds 0000:4d:00.0/compute 11': 0.5,
    });
    // Without process 10 the client belongs to process 11.
    assert.equal(read(11)['memory_bytes 0000:c1:00.0 11'], 48128 * MIB);
  });

  it('never lets busy time fall when a client ends or its counter falls', () => {
    const { hold, release, end, read, clock } = machine();
    const client = (id: number, seconds: number): string =>
      `drm-driver:\tamdgpu\ndrm-client-id:\t${id}\ndrm-pdev:\t0000:c1:00.0\ndrm-engine-gfx:\t${seconds * 1e9} ns\n`;
    const busy = (): number | undefined => {
      clock.ms += 10_000;
      return read(10)['busy_seconds 0000:c1:00.0/gfx 10'];
    };
    hold(10, 3, '/dev/dri/renderD128', client(1, 5));
    assert.equal(busy(), 5);
    hold(10, 3, '/dev/dri/renderD128', client(1, 7));
    hold(10, 4, '/dev/dri/renderD128', client(2, 1));
    assert.equal(busy(), 8);
    release(10, 3);
    assert.equal(busy(), 8);
    hold(10, 4, '/dev/dri/renderD128', client(2, 0.5));
    assert.equal(busy(), 8.5);
    hold(10, 4, '/dev/dri/renderD128', 'garbage');
    assert.equal(busy(), 8.5);
    end(10);
    assert.equal(busy(), 8.5);
  });

  it('converts cycles to seconds by the total cycles beside them', () => {
    const { hold, read, clock } = machine();
    const text = textOf('xe-6.12');
    hold(10, 3, '/dev/dri/renderD128', text);
    assert.equal(read(10)['busy_seconds 0000:03:00.0/rcs 10'], 0);
    clock.ms += 10_000;
    const later = text
      .replaceAll('total-cycles-rcs:\t7655183225', 'total-cycles-rcs:\t7845183225')
      .replace('cycles-rcs:\t28257900', 'cycles-rcs:\t75757900');
    hold(10, 3, '/dev/dri/renderD128', later);
    assert.equal(read(10)['busy_seconds 0000:03:00.0/rcs 10'], 2.5);
  });

  const holding = (id: number, bytes: number): string =>
    `drm-driver:\tamdgpu\ndrm-client-id:\t${id}\ndrm-pdev:\t0000:c1:00.0\ndrm-memory-vram:\t${bytes}\n`;
  const MEMORY = 'memory_bytes 0000:c1:00.0';

  it('reads at most most_descriptors descriptors of a process, and no endless text', () => {
    const { hold, read } = machine({ most_descriptors: 50 });
    for (let fd = 0; fd < 80; fd++) hold(10, fd, '/dev/dri/renderD128', holding(1000 + fd, 1));
    hold(11, 3, '/dev/dri/renderD128', holding(1, 5) + 'x'.repeat(100_000));
    hold(12, 3, '/dev/dri/renderD128', holding(2, 7));
    const found = read(10, 11, 12);
    assert.deepEqual([found[`${MEMORY} 10`], found[`${MEMORY} 11`], found[`${MEMORY} 12`]], [50, undefined, 7]);
  });

  it('stops after most_seconds, and reports each process before it reads it', () => {
    const { hold, read, asked } = machine({ most_seconds: 2 }, 300);
    for (const pid of [10, 11])
      for (let fd = 0; fd < 5; fd++) hold(pid, fd, '/dev/dri/renderD128', holding(10 * pid + fd, 1));
    const found = read(10, 11);
    // 6 descriptors of 0.3 s each.
    assert.deepEqual([found[`${MEMORY} 10`], found[`${MEMORY} 11`]], [5, 1]);
    assert.deepEqual(asked([10, 11]), [10, 11]);
  });

  it('is unavailable where no driver makes /dev/dri', () => {
    const root = temporaryDirectory();
    cpSync(texts, join(root, 'proc/1/fdinfo'), { recursive: true });
    const source = drmProcess.open({ ...THIS_MACHINE, proc: join(root, 'proc'), root, options: drmProcess.options });
    assert.ok(isUnavailable(source));
    assert.match(source.unavailable, /no \/dev\/dri/);
  });

  it('reads this process on this machine, or says why not', (t) => {
    const source = drmProcess.open({ ...THIS_MACHINE, options: drmProcess.options });
    if (isUnavailable(source)) t.diagnostic(`not live: ${source.unavailable}`);
    else assert.deepEqual(source.read([process.pid, 2 ** 22 + 1]), []);
  });
});
