import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import {
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  readSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { replaceFile } from '../../../src/base/replace-file';
import { keyValues, startTicksOf, writePidFile } from '../../../src/sampler/job/pid-file';
import {
  formatRunDescription,
  parseRunDescription,
  runDirectoryName,
  runId,
  shepherdLives,
  type RunDescription,
} from '../../../src/sampler/job/run-description';
import { RunDirectory } from '../../../src/sampler/job/run-directory';
import { bootId } from '../../../src/sources/proc/clock';
import { temporaryDirectory } from '../../support/temporary-directory';
import { until } from '../../support/until';
import { runOf } from '../../support/runs';

const RUN = runOf({
  job: 1516,
  task: 3,
  spool: '/var/spool/ge/execd/node1/active_jobs/1516.3',
  shepherdPid: 4321,
  shepherdStart: 987654,
  boot: '0badcafe-1234-4567-89ab-0123456789ab',
  addressSpaceKib: 8388608,
});

const line = fc.string({ maxLength: 40 }).filter((text) => !text.includes('\n'));
const whole = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
const descriptions: fc.Arbitrary<RunDescription> = fc.record(
  {
    job: whole,
    task: whole,
    spool: line,
    shepherdPid: whole,
    shepherdStart: whole,
    boot: line,
    hooks: fc.constantFrom('root', 'plain', 'run'),
    memory: fc.constantFrom('full', 'small', 'none'),
    reason: line,
    addressSpaceKib: fc.option(fc.integer({ min: 1, max: 2 ** 40 }), { nil: null }),
    attached: fc.boolean(),
    peTask: fc.option(fc.constantFrom('1.node01', '12.node-2'), { nil: null }),
    ends: fc.constantFrom('epilog', 'usage'),
  },
  { noNullPrototype: true },
);

describe('keyValues', () => {
  it('splits at the first "="; the last of two equal keys wins', () => {
    assert.deepEqual(
      [...keyValues('a=1\nb=x=y\n\n=z\nnone\na=2\nc=\n')],
      [
        ['a', '2'],
        ['b', 'x=y'],
        ['c', ''],
      ],
    );
  });
});

describe('a run’s description', () => {
  it('is read as it was written', () => {
    fc.assert(
      fc.property(descriptions, (run) => {
        assert.deepEqual(parseRunDescription(formatRunDescription(run)), run);
      }),
    );
  });

  it('is not read where it is cut off, wherever that is', () => {
    const text = formatRunDescription(RUN);
    for (let length = 0; length < text.length - 1; length++)
      assert.equal(parseRunDescription(text.slice(0, length)), null);
  });

  it('is read with unknown keys, in any order', () => {
    const lines = formatRunDescription(RUN).trimEnd().split('\n');
    const others = ['uptime=9876.54', 'colour=green'];
    assert.deepEqual(parseRunDescription([...others, ...lines.reverse(), 'end=1'].join('\n')), RUN);
  });

  it('is read without the keys that an earlier version leaves out', () => {
    const old = formatRunDescription(RUN).replace(/^(address_space_kib|attached|reason)=.*\n/gm, '');
    assert.deepEqual(parseRunDescription(old), { ...RUN, addressSpaceKib: null });
    assert.equal(parseRunDescription(formatRunDescription(RUN).replace('8388608', 'unlimited'))?.addressSpaceKib, null);
  });

  it('is refused with a missing or impossible number, or an unknown word', () => {
    const text = formatRunDescription(RUN);
    for (const [sound, wrong] of [
      ['job=1516\n', ''],
      ['job=1516', 'job=many'],
      ['task=3', 'task=-3'],
      ['shepherd_pid=4321', 'shepherd_pid=1e99'],
      ['shepherd_start=987654', 'shepherd_start=1.5'],
      ['hooks=root', 'hooks=nobody'],
      ['memory=full', 'memory=huge'],
    ] as const) {
      assert.ok(text.includes(sound));
      assert.equal(parseRunDescription(text.replace(sound, wrong)), null, wrong);
    }
  });

  it('is null or valid for any text', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(line, fc.constantFrom(...formatRunDescription(RUN).split('\n')))), (lines) => {
        const run = parseRunDescription(lines.join('\n'));
        assert.ok(run === null || (Number.isSafeInteger(run.job) && Number.isSafeInteger(run.shepherdStart)));
      }),
    );
  });

  it('gives the names of its directory and of its record', () => {
    assert.equal(runId(RUN), '0badcafe.4321.987654');
    assert.equal(runDirectoryName(RUN), '1516.3.0badcafe.4321.987654');
  });
});

describe('run directories', () => {
  it('are the ones with the name of a run', () => {
    const state = temporaryDirectory();
    const paths = () => RunDirectory.list(state).map(({ path }) => path);
    assert.deepEqual(paths(), []);
    for (const name of [runDirectoryName(RUN), '1.0.0badcafe.5.6', '1.0', 'x.0.0badcafe.5.6', '..', '1.0.0BADCAFE.5.6'])
      mkdirSync(join(state, 'run', name), { recursive: true });
    assert.deepEqual(paths(), [join(state, 'run', '1.0.0badcafe.5.6'), join(state, 'run', runDirectoryName(RUN))]);
  });

  it('are made once, with the run’s description', () => {
    const state = temporaryDirectory();
    const directory = RunDirectory.make(state, RUN);
    assert.ok(directory);
    assert.equal(directory.runId, runId(RUN));
    assert.deepEqual(directory.description(), RUN);
    assert.equal(RunDirectory.make(state, RUN), null);
    directory.remove();
    assert.equal(directory.description(), null);
    directory.remove();
  });

  it('are locked by one process', () => {
    const state = temporaryDirectory();
    const [first, second] = [
      RunDirectory.make(state, RUN),
      new RunDirectory(join(state, 'run', runDirectoryName(RUN))),
    ];
    assert.ok(first);
    assert.equal(second.isUnattended(), true);
    assert.equal(first.lock(), true);
    assert.equal(second.lock(), false);
    assert.equal(second.isUnattended(), false);
    first.announce();
    assert.equal(second.samplerPid(), process.pid);
    first.unlock();
    assert.equal(second.isUnattended(), true);
    assert.equal(second.lock(), true);
    second.unlock();
  });

  it('say whether they could be removed', () => {
    const parent = temporaryDirectory();
    writeFileSync(join(parent, 'run'), '');
    assert.equal(new RunDirectory(join(parent, 'run', '1.0.0badcafe.2.3')).remove(), false);
    const made = RunDirectory.make(temporaryDirectory(), RUN);
    assert.equal(made?.remove(), true);
    assert.equal(made.exists(), false);
  });

  it('name the sampler as the epilog reads it', () => {
    const directory = temporaryDirectory();
    writePidFile(directory, bootId());
    const start = startTicksOf(process.pid) ?? 0;
    assert.equal(
      readFileSync(join(directory, 'pid'), 'utf8'),
      `version=1\npid=${process.pid}\nstart=${start}\nboot=${bootId()}\nend=1\n`,
    );
    assert.deepEqual(readdirSync(directory), ['pid']);
    assert.equal(statSync(join(directory, 'pid')).mode & 0o777, 0o600);
  });
});

describe('replaceFile', () => {
  it('leaves the new text, the mode, and nothing else', () => {
    const directory = temporaryDirectory();
    const path = join(directory, 'file');
    replaceFile(path, 'old', 0o600);
    replaceFile(path, 'new', 0o600);
    assert.equal(readFileSync(path, 'utf8'), 'new');
    assert.equal(statSync(path).mode & 0o777, 0o600);
    assert.deepEqual(readdirSync(directory), ['file']);
  });
});

describe('shepherdLives', () => {
  const self = { ...RUN, boot: bootId(), shepherdPid: process.pid, shepherdStart: startTicksOf(process.pid) ?? 0 };

  it('is true only for the very process in this boot', () => {
    assert.equal(shepherdLives(self), true);
    assert.equal(shepherdLives({ ...self, shepherdStart: self.shepherdStart + 1 }), false);
    assert.equal(shepherdLives({ ...self, boot: RUN.boot }), false);
    assert.equal(shepherdLives({ ...self, shepherdPid: 2 ** 22 - 1 }), false);
  });

  it('is false for a zombie', async (t) => {
    // The shell does not wait for its child, which becomes a zombie.
    const parent = spawn('/bin/sh', ['-c', 'sleep 0 & echo $!; exec sleep 60'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    t.after(() => parent.kill('SIGKILL'));
    const pid = Number(await new Promise((resolve) => parent.stdout.once('data', resolve)));
    await until(() => startTicksOf(pid) === null, 'the zombie');
    const start = Number(readFileSync(`/proc/${pid}/stat`, 'latin1').split(' ')[21]);
    assert.equal(shepherdLives({ ...self, shepherdPid: pid, shepherdStart: start }), false);
  });
});

describe('the acknowledgement to the epilog', () => {
  it('is read by an epilog that waits at the FIFO', () => {
    const directory = new RunDirectory(temporaryDirectory());
    const fifo = join(directory.path, 'ack');
    execFileSync('mkfifo', [fifo]);
    directory.acknowledge('memory');
    const fd = openSync(fifo, constants.O_RDWR | constants.O_NONBLOCK);
    directory.acknowledge('disk');
    const bytes = Buffer.alloc(16);
    assert.equal(bytes.toString('latin1', 0, readSync(fd, bytes)), 'disk\n');
    closeSync(fd);
    directory.acknowledge('disk');
  });

  it('is written to nothing but a FIFO', () => {
    const directory = new RunDirectory(temporaryDirectory());
    const path = join(directory.path, 'ack');
    directory.acknowledge('disk');
    assert.equal(existsSync(path), false);
    writeFileSync(path, '');
    directory.acknowledge('disk');
    assert.equal(readFileSync(path, 'utf8'), '');
  });
});
