import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { LimitedLog, SharedLogLimit } from '../../src/base/log-limit';
import { temporaryDirectory } from '../support/temporary-directory';
import { reasonOf } from '../../src/base/user-error';
import { until } from '../support/until';

const noLogger = !existsSync('/usr/bin/logger') && 'needs /usr/bin/logger';

describe('reasonOf', () => {
  it('gives one line for any error', () => {
    assert.equal(reasonOf(new Error('first\nsecond')), 'first');
    assert.equal(reasonOf('text'), 'text');
    assert.equal(reasonOf(undefined), 'undefined');
    assert.equal(reasonOf(new Error('')), '');
  });
});

const notRoot = process.getuid?.() !== 0 && 'only root can make a mount namespace';

/** The first `lines` or more lines that a program logs, in a mount namespace where /usr/bin/logger writes to a file. */
async function logged(program: string, lines: number): Promise<readonly string[]> {
  const directory = temporaryDirectory();
  const file = join(directory, 'log');
  const logger = join(directory, 'logger');
  writeFileSync(logger, `#!/bin/sh\nshift 4\nprintf '%s\\n' "$2" >>${file}\n`, { mode: 0o755 });
  writeFileSync(file, '');
  const script = `mount --bind ${logger} /usr/bin/logger && exec "$@"`;
  const log = require.resolve('../../src/base/log');
  const words = [process.execPath, '-e', `const { warn } = require(process.argv[1]); ${program}`, log];
  const { status, stderr } = spawnSync('unshare', ['-m', 'sh', '-c', script, 'sh', ...words], { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  const read = (): readonly string[] => readFileSync(file, 'utf8').split('\n').slice(0, -1);
  // The loggers outlive the program.
  return until(() => read().length >= lines && read());
}

describe('the system log', () => {
  it('gets one line for a warning, with control characters escaped', { skip: notRoot || noLogger }, async () => {
    const lines = await logged(`warn('outbox/x\\nqmemacct: all is well\\x1b[2J\\u202e: removed');`, 1);
    assert.deepEqual(lines, ['outbox/x\\x0aqmemacct: all is well\\x1b[2J\\u202e: removed']);
  });

  it('gets at most ten lines of one process, and the number left out', { skip: notRoot || noLogger }, async () => {
    const lines = await logged(`for (let i = 0; i < 25; i++) warn('message ' + i);`, 11);
    const expected = Array.from({ length: 10 }, (_, index) => `message ${index}`);
    assert.deepEqual([...lines].sort(), [...expected, '15 more lines left out'].sort());
  });
});

describe('LimitedLog', () => {
  it('limits lines per window, counts those left out and cuts long ones', (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const lines: string[] = [];
    const log = new LimitedLog((line) => lines.push(line), { most: 2, windowMs: 1000 });
    for (const line of ['a', 'b', 'c', 'd']) log.say(line);
    assert.deepEqual(lines, ['a', 'b']);
    t.mock.timers.tick(1000);
    assert.deepEqual(lines.splice(0), ['a', 'b', '2 more lines left out']);
    t.mock.timers.tick(5000);
    for (const line of ['e', 'f', 'g']) log.say(line);
    log.flush();
    log.flush();
    assert.deepEqual(lines.splice(0), ['e', 'f', '1 more line left out']);
    t.mock.timers.tick(1000);
    log.say('h'.repeat(5000));
    assert.deepEqual(
      lines.map((line) => line.length),
      [1000],
    );
  });
});

describe('log lines of all processes of a host', () => {
  it('share one limit per window, and lines left out are reported once', () => {
    const directory = temporaryDirectory();
    const limits = { most: 3, windowMs: 1000 };
    const [one, other] = [new SharedLogLimit(directory, limits), new SharedLogLimit(directory, limits)];
    const allowed = [one, other, one, other, one].map((limit) => limit.take(5500).allowed);
    assert.deepEqual(allowed, [true, true, true, false, false]);
    assert.deepEqual(other.take(6000), { allowed: true, leftOut: 2 });
    assert.deepEqual(one.take(6999), { allowed: true, leftOut: 0 });
    assert.deepEqual(readdirSync(directory), ['log-lines.6']);
  });

  it('stay within the limit when several processes write at once', async () => {
    const directory = temporaryDirectory();
    const script = `
      const { SharedLogLimit } = require(process.argv[1]);
      const limit = new SharedLogLimit(process.argv[2], { most: 10, windowMs: 1e15 });
      process.stdout.write(String(Array.from({ length: 8 }, () => limit.take().allowed).filter(Boolean).length));`;
    const path = require.resolve('../../src/base/log-limit');
    const counts = await Promise.all(
      Array.from({ length: 4 }, async () => {
        const { stdout } = await promisify(execFile)(process.execPath, ['-e', script, path, directory]);
        return Number(stdout);
      }),
    );
    const written = counts.reduce((sum, count) => sum + count, 0);
    assert.ok(written > 0 && written <= 10, `${written} lines`);
  });

  it('are not limited together where the directory is missing', () => {
    assert.deepEqual(new SharedLogLimit('/no/such/directory').take(), { allowed: true, leftOut: 0 });
  });
});

describe('warn', () => {
  function warned(env: Readonly<Record<string, string>>): { readonly status: number | null; readonly stderr: string } {
    const script = `const { warn } = require(process.argv[1]); for (let i = 0; i < 15; i++) warn('message ' + i);`;
    return spawnSync(process.execPath, ['-e', script, require.resolve('../../src/base/log')], {
      env: { PATH: '/no/such', ...env },
      encoding: 'utf8',
    });
  }

  it('writes every line to stderr with QMEMACCT_LOG=stderr', () => {
    const { status, stderr } = warned({ QMEMACCT_LOG: 'stderr' });
    assert.equal(status, 0);
    assert.equal(stderr.split('\n').filter((line) => line.startsWith('qmemacct: message ')).length, 15);
  });
});
