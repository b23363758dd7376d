import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import {
  allPids,
  listsChildren,
  memoryOfAnyThread,
  ProcessFiles,
  type DescriptorBudget,
} from '../../../src/sources/proc/process-files';
import { hasGroup } from '../../../src/sources/proc/status';
import { burner, burnersObstacle } from '../../burners/build';
import { fixtureRoot, KERNEL_THREAD, PROCESS, ZOMBIE } from './fixtures';
import { temporaryDirectory } from '../../support/temporary-directory';
import { until } from '../../support/until';

function started(t: TestContext, command: string, ...args: readonly string[]): ChildProcess & { readonly pid: number } {
  const child = spawn(command, args, { stdio: 'ignore' });
  t.after(() => child.kill('SIGKILL'));
  const { pid } = child;
  assert.ok(pid !== undefined);
  return Object.assign(child, { pid });
}

async function ended(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL');
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
}

const openDescriptors = (): number => readdirSync('/proc/self/fd').length;

describe('ProcessFiles on a fixture tree', () => {
  it('reads each file', () => {
    const budget: DescriptorBudget = { left: 10 };
    const files = new ProcessFiles(PROCESS, budget, fixtureRoot('6.1'));
    assert.equal(files.pid, PROCESS);
    assert.deepEqual(files.statm(), { size: 112500, resident: 20000 });
    assert.equal(files.stat()?.comm, 'Größe µ');
    assert.equal(files.memory()?.vmRss, 80000);
    assert.equal(files.io()?.writtenBytes, 323932160);
    assert.equal(
      files.status((text, length) => hasGroup(text, length, 20007)),
      true,
    );
    assert.deepEqual(files.children(false), [4250, 4251]);
    assert.deepEqual(files.children(true), [4250, 4251]);
    assert.equal(files.executable(), null);
    files.close();
    assert.equal(budget.left, 10);
  });

  it('returns no memory for a kernel thread and a zombie', () => {
    for (const pid of [KERNEL_THREAD, ZOMBIE]) {
      const files = new ProcessFiles(pid, { left: 0 }, fixtureRoot('5.14'));
      assert.equal(files.memory(), null);
      assert.deepEqual(files.statm(), { size: 0, resident: 0 });
    }
  });

  it('returns null for a process that does not exist', () => {
    const files = new ProcessFiles(77, { left: 1 }, fixtureRoot('5.14'));
    assert.equal(files.stat(), null);
    assert.equal(files.memory(), null);
    assert.equal(
      files.status(() => 1),
      null,
    );
    assert.deepEqual(files.children(false), []);
    assert.deepEqual(files.children(true), []);
    files.close();
  });

  it('says whether a kernel lists children, and lists all pids', () => {
    assert.equal(listsChildren(fixtureRoot('3.10')), false);
    assert.deepEqual([...allPids(fixtureRoot('3.10'))].sort(), [KERNEL_THREAD, PROCESS, ZOMBIE]);
  });

  it('reads memory from the first thread that has some', () => {
    const root = temporaryDirectory();
    const threads = {
      9: 'Name:\tx\n',
      10: 'Name:\tx\n',
      11: 'Name:\tx\nVmPeak:\t 8 kB\nVmRSS:\t 5 kB\nVmSwap:\t 0 kB\n',
    };
    for (const [tid, status] of Object.entries(threads)) {
      mkdirSync(join(root, '9', 'task', tid), { recursive: true });
      writeFileSync(join(root, '9', 'task', tid, 'status'), status);
    }
    assert.equal(memoryOfAnyThread(9, root)?.vmRss, 5);
    assert.equal(memoryOfAnyThread(8, root), null);
  });
});

describe('ProcessFiles on living processes', () => {
  it('reads this process, and the files that only its user may read', () => {
    const files = new ProcessFiles(process.pid, { left: 10 });
    assert.equal(files.stat()?.ppid, process.ppid);
    assert.ok((files.memory()?.vmRss ?? 0) > 1024);
    assert.ok((files.statm()?.resident ?? 0) > 256);
    assert.ok((files.io()?.readChars ?? 0) > 0);
    assert.equal(files.executable(), process.execPath.split('/').pop());
    files.close();
  });

  it('returns null after a process has ended', async (t) => {
    const child = started(t, 'sleep', '300');
    const files = new ProcessFiles(child.pid, { left: 10 });
    assert.notEqual(files.stat(), null);
    assert.notEqual(files.memory(), null);
    assert.notEqual(files.statm(), null);
    assert.notEqual(files.io(), null);
    await ended(child);
    // The descriptors stay bound to the process that has gone, whoever gets its pid.
    assert.equal(files.stat(), null);
    assert.equal(files.memory(), null);
    assert.equal(files.statm(), null);
    assert.equal(files.io(), null);
    assert.deepEqual(files.children(false), []);
    files.close();
  });

  it('returns another mark after the process has run, and the same mark while it sleeps', async (t) => {
    const child = spawn('cat', [], { stdio: ['pipe', 'pipe', 'ignore'] });
    t.after(() => child.kill('SIGKILL'));
    await once(child, 'spawn');
    const files = new ProcessFiles(child.pid ?? 0, { left: 10 });
    // A process that is about to sleep may still run for a moment.
    const asleep = await until(async () => {
      const mark = files.stat()?.state === 'S' ? files.ran() : null;
      await delay(50);
      return files.ran() === mark && mark;
    }, 'the same mark twice');
    assert.match(asleep, /^\d+ \d+ \d+\n$/);
    const answered = once(child.stdout, 'data');
    child.stdin.write('wake up\n');
    await answered;
    assert.notEqual(files.ran(), asleep);
    await ended(child);
    assert.equal(files.ran(), null);
    files.close();
  });

  it('keeps as many descriptors as the budget has, and gives them back', (t) => {
    const child = started(t, 'sleep', '300');
    const before = openDescriptors();
    const budget: DescriptorBudget = { left: 2 };
    const files = new ProcessFiles(child.pid, budget);
    for (let round = 0; round < 3; round++) {
      assert.notEqual(files.stat(), null);
      assert.notEqual(files.statm(), null);
      assert.notEqual(files.memory(), null);
      assert.notEqual(files.io(), null);
    }
    assert.equal(budget.left, 0);
    assert.equal(openDescriptors(), before + 2);
    files.close();
    assert.equal(budget.left, 2);
    assert.equal(openDescriptors(), before);
  });

  it('reads without keeping a descriptor where the budget is 0', async (t) => {
    const child = started(t, 'sleep', '300');
    const before = openDescriptors();
    const files = new ProcessFiles(child.pid, { left: 0 });
    assert.notEqual(files.stat(), null);
    assert.notEqual(files.memory(), null);
    assert.equal(openDescriptors(), before);
    await ended(child);
    assert.equal(files.stat(), null);
    files.close();
  });

  it('lists children, of one thread or of all', async (t) => {
    if (!listsChildren()) {
      t.skip('this kernel lists no children');
      return;
    }
    const parent = started(t, '/bin/sh', '-c', 'sleep 300 & sleep 300 & wait');
    const files = new ProcessFiles(parent.pid, { left: 5 });
    const children = await until(() => {
      const found = files.children(false);
      return found.length === 2 ? found : null;
    });
    t.after(() => {
      for (const pid of children) process.kill(pid, 'SIGKILL');
    });
    assert.deepEqual(files.children(true), children);
    for (const pid of children) assert.equal(new ProcessFiles(pid, { left: 0 }).stat()?.ppid, parent.pid);
    files.close();
  });

  it('lists more children than one read of the kernel gives', async (t) => {
    if (!listsChildren()) {
      t.skip('this kernel lists no children');
      return;
    }
    const MANY = 900;
    const script = `i=0; while [ $i -lt ${MANY} ]; do sleep 300 & i=$((i+1)); done; wait`;
    const parent = spawn('/bin/sh', ['-c', script], { stdio: 'ignore', detached: true });
    const pid = parent.pid ?? 0;
    assert.ok(pid > 1);
    t.after(() => {
      process.kill(-pid, 'SIGKILL');
    });
    for (const budget of [{ left: 0 }, { left: 5 }]) {
      const files = new ProcessFiles(pid, budget);
      await until(() => files.children(false).length === MANY);
      assert.equal(new Set(files.children(true)).size, MANY);
      files.close();
    }
  });

  it(
    "returns null for files of another user's process that it may not read, and reads the others",
    { skip: process.getuid?.() !== 0 },
    async (t) => {
      const script = `
      const { ProcessFiles } = require(process.argv[1]);
      const files = new ProcessFiles(Number(process.argv[2]), { left: 10 });
      const seen = [0, 1].map(() => [files.io(), files.stat() !== null, files.memory() !== null, files.executable()]);
      process.stdout.write(JSON.stringify(seen));`;
      const child = started(t, 'sleep', '300');
      const reader = spawn(
        process.execPath,
        ['-e', script, require.resolve('../../../src/sources/proc/process-files'), String(child.pid)],
        { uid: 65534, gid: 65534, stdio: ['ignore', 'pipe', 'inherit'] },
      );
      let text = '';
      reader.stdout.setEncoding('utf8').on('data', (piece: string) => (text += piece));
      await once(reader, 'close');
      assert.deepEqual(JSON.parse(text), [
        [null, true, true, null],
        [null, true, true, null],
      ]);
    },
  );

  it('reads a process whose first thread has exited', { skip: burnersObstacle() ?? false }, async (t) => {
    const child = started(t, burner('leader-exits'), '--mib=16', '--threads=2', '--grow=0', '--hold=300000');
    const files = new ProcessFiles(child.pid, { left: 10 });
    const stat = await until(() => {
      const now = files.stat();
      return now?.state === 'Z' && now.threads > 1 ? now : null;
    });
    assert.ok(stat.threads >= 2);
    assert.equal(files.memory(), null);
    await until(() => (memoryOfAnyThread(child.pid)?.vmRss ?? 0) >= 16 * 1024);
    files.close();
  });
});
