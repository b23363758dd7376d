import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import {
  childrenUsage,
  LibcError,
  raiseSoftLimit,
  resourceLimit,
  Rlimit,
  sharesAddressSpace,
  tryLock,
} from '../../src/native/libc';
import { temporaryDirectory } from '../support/temporary-directory';

function temporaryFile(): string {
  const directory = temporaryDirectory();
  return join(directory, 'lock');
}

/** The value of `expression` of the module in a process of its own, started through `wrapper`. */
function inOwnProcess(expression: string, ...wrapper: readonly string[]): unknown {
  const script = `const libc = require(process.argv[1]); process.stdout.write(JSON.stringify(${expression}))`;
  const words = [...wrapper, process.execPath, '-e', script, require.resolve('../../src/native/libc')];
  const { status, stdout, stderr } = spawnSync(words[0] ?? '', words.slice(1), { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  return JSON.parse(stdout);
}

describe('tryLock', () => {
  it('takes a lock once, and again after it was released', () => {
    const path = temporaryFile();
    const first = openSync(path, 'a', 0o600);
    const second = openSync(path, 'a', 0o600);
    assert.equal(tryLock(first), true);
    assert.equal(tryLock(second), false);
    assert.equal(tryLock(first), true);
    closeSync(first);
    assert.equal(tryLock(second), true);
    closeSync(second);
  });

  it('gets no lock that another process holds, until that process is killed', async (t) => {
    const path = temporaryFile();
    const holder = spawn('/bin/sh', ['-c', 'exec 9>"$1"; flock 9; echo held; read -r _', 'sh', path], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    t.after(() => holder.kill('SIGKILL'));
    await once(holder.stdout, 'data');
    const fd = openSync(path, 'a', 0o600);
    assert.equal(tryLock(fd), false);
    holder.kill('SIGKILL');
    await once(holder, 'close');
    assert.equal(tryLock(fd), true);
    closeSync(fd);
  });

  it('throws an error with the call and the errno for a bad descriptor', () => {
    assert.throws(
      () => tryLock(9999),
      (error: unknown) => error instanceof LibcError && error.call === 'flock' && error.errno === 9,
    );
  });
});

describe('resourceLimit, raiseSoftLimit', () => {
  it('read the limits of this process', () => {
    const limits = readFileSync('/proc/self/limits', 'utf8');
    const [, soft, hard] = /^Max open files +(\S+) +(\S+)/m.exec(limits) ?? [];
    const number = (text: string | undefined): number => (text === 'unlimited' ? Infinity : Number(text));
    assert.deepEqual(resourceLimit(Rlimit.NOFILE), { soft: number(soft), hard: number(hard) });
  });

  it('read limits in the kernel’s unit', () => {
    const limits = '[libc.Rlimit.FSIZE, libc.Rlimit.CPU].map((limit) => libc.resourceLimit(limit))';
    assert.deepEqual(inOwnProcess(limits, 'prlimit', '--fsize=15360:15360', '--cpu=5:7'), [
      { soft: 15360, hard: 15360 },
      { soft: 5, hard: 7 },
    ]);
  });

  it('raise a soft limit to the hard one', () => {
    assert.deepEqual(
      inOwnProcess(
        '(libc.raiseSoftLimit(libc.Rlimit.NOFILE), libc.resourceLimit(libc.Rlimit.NOFILE))',
        'prlimit',
        '--nofile=64:100',
      ),
      { soft: 100, hard: 100 },
    );
    raiseSoftLimit(Rlimit.NOFILE);
    const { soft, hard } = resourceLimit(Rlimit.NOFILE);
    assert.equal(soft, hard);
  });

  it('throw for a limit that does not exist', () => {
    assert.throws(() => resourceLimit(999), /getrlimit failed: errno 22/);
  });
});

describe('childrenUsage', () => {
  it('counts the CPU time and memory of waited-for children', () => {
    const before = childrenUsage();
    spawnSync('/bin/sh', ['-c', 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done']);
    const after = childrenUsage();
    assert.ok(after.utime + after.stime > before.utime + before.stime + 0.02);
    assert.ok(after.maxrss > 500_000);
  });
});

describe('useEveryCpu', () => {
  it('undoes a binding to one core', () => {
    const cpus = /^Cpus_allowed_list:\s*(.*)/m;
    const [, free] = cpus.exec(readFileSync('/proc/self/status', 'latin1')) ?? [];
    const bound = `(libc.useEveryCpu(), ${String(cpus)}.exec(require('node:fs').readFileSync('/proc/self/status', 'latin1'))[1])`;
    assert.equal(inOwnProcess(bound, 'taskset', '-c', '0'), free);
  });
});

describe('sharesAddressSpace', () => {
  it('is true for one address space and false for two', (t) => {
    const child = spawn('sleep', ['60'], { stdio: 'ignore' });
    t.after(() => child.kill('SIGKILL'));
    if (sharesAddressSpace(process.pid, process.pid) === null) {
      t.skip('this kernel does not compare processes');
      return;
    }
    assert.equal(sharesAddressSpace(process.pid, process.pid), true);
    assert.equal(sharesAddressSpace(process.pid, child.pid ?? 0), false);
  });

  it('is null for a process that is not there', () => {
    assert.equal(sharesAddressSpace(process.pid, 2 ** 22 - 1), null);
  });
});
