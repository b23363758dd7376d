import assert from 'node:assert/strict';
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { OWNERS_FILES, watchDirectory, type DirectoryWatch } from '../../../src/sampler/job/watch-directory';
import { oneOf } from '../../tries';
import { temporaryDirectory } from '../../support/temporary-directory';
import { until } from '../../support/until';

interface Heard {
  readonly directory: string;
  readonly names: (string | null)[];
  readonly gone: () => number;
  readonly watch: DirectoryWatch;
}

function listenTo(t: TestContext, name = 'watched'): Heard {
  const directory = join(temporaryDirectory(), name);
  mkdirSync(directory);
  const names: (string | null)[] = [];
  let gone = 0;
  const watch = watchDirectory(directory, {
    heard: (one) => names.push(one),
    gone: () => gone++,
    deafTo: OWNERS_FILES,
  });
  assert.ok(watch !== null);
  t.after(() => watch.close());
  return { directory, names, gone: () => gone, watch };
}

describe('a watched directory', () => {
  it('reports the names that change, except those to be ignored', async (t) => {
    const { directory, names } = listenTo(t);
    for (const name of OWNERS_FILES) writeFileSync(join(directory, name), 'x');
    writeFileSync(join(directory, 'usage'), 'x');
    await until(() => names.includes('usage'), 'the file');
    assert.deepEqual(new Set(names), new Set(['usage']));
  });

  it('is null where it does not exist', () => {
    assert.equal(watchDirectory(join(temporaryDirectory(), 'none'), { heard: () => undefined }), null);
  });

  it('reports once that it was removed', async (t) => {
    const { directory, names, gone } = listenTo(t);
    rmdirSync(directory);
    await until(() => gone() > 0, 'its end');
    mkdirSync(directory);
    writeFileSync(join(directory, 'later'), '');
    await delay(100);
    assert.equal(gone(), 1);
    assert.deepEqual(names, []);
  });

  it('is watched again after it was made anew under its name', async (t) => {
    const { directory, names, gone } = listenTo(t, '9.1');
    rmSync(directory, { recursive: true });
    mkdirSync(directory);
    writeFileSync(join(directory, 'early'), '');
    await until(() => names.includes(null), 'a report without a name');
    writeFileSync(join(directory, 'config'), '');
    await until(() => names.includes('config'), 'the file');
    assert.equal(gone(), 0);
  });

  it('stays watched when its mode changes', async (t) => {
    const { directory, names, gone } = listenTo(t);
    chmodSync(directory, 0o700);
    await delay(50);
    writeFileSync(join(directory, 'pid'), '');
    await until(() => names.includes('pid'), 'the file');
    assert.equal(gone(), 0);
  });

  it('reports nothing after close', async (t) => {
    const { directory, names, watch } = listenTo(t);
    writeFileSync(join(directory, 'one'), '');
    watch.close();
    watch.close();
    writeFileSync(join(directory, 'two'), '');
    await delay(100);
    assert.deepEqual(names, []);
  });

  it('is not watched for a while where its owner writes in a loop, and then is again', (t) =>
    // A machine that stands still for a second misses the pause.
    oneOf(5, async () => {
      const { directory, names, gone } = listenTo(t);
      const noise = join(directory, 'trace');
      for (let burst = 0; burst < 20; burst++) {
        await delay(1);
        for (let index = 0; index < 40; index++) {
          appendFileSync(noise, '.');
          // Between two of these: the kernel merges equal events that follow each other.
          appendFileSync(join(directory, 'error'), '.');
        }
      }
      const before = names.length;
      writeFileSync(join(directory, 'usage'), '');
      await delay(50);
      assert.equal(names.length, before, 'reported in the pause');
      await until(() => names.includes(null), 'the end of the pause');
      writeFileSync(join(directory, 'pid'), '');
      await until(() => names.includes('pid'), 'the file');
      assert.equal(gone(), 0);
    }));

  it('leaves no inotify descriptor open after close', async (t) => {
    const watches = (): number =>
      readdirSync('/proc/self/fd').filter((fd) => {
        try {
          return readlinkSync(`/proc/self/fd/${fd}`).includes('inotify');
        } catch {
          return false;
        }
      }).length;
    const { watch } = listenTo(t);
    const before = watches();
    watch.close();
    for (let index = 0; index < 50; index++) listenTo(t).watch.close();
    await until(() => watches() <= before, 'their end');
  });
});
