import assert from 'node:assert/strict';
import { appendFileSync, renameSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import fc from 'fast-check';
import { followLines, followOnlineUsage, onlineUsageFile, parseOnlineUsage } from '../../src/gridengine/online-usage';
import { temporaryDirectory } from '../sampler/temporary-directory';

/** 2026-11-21T12:00:00Z, in µs as OCS writes it. */
const TIME = 1_795_262_400_000_000;

const line = (job: number, rss: number, more: Readonly<Record<string, unknown>> = {}): string =>
  `${JSON.stringify({ time: TIME, type: 'online_usage', job_number: job, task_number: 0, usage: { cpu: 1.5, rss }, ...more })}\n`;

function path(t: TestContext): string {
  return join(temporaryDirectory(t), 'reporting.jsonl');
}

/** Looks once. */
function looked(follower: ReturnType<typeof followLines>): { state: string; lines: string[] } {
  const lines: string[] = [];
  return { state: follower.look((text) => lines.push(text)), lines };
}

describe('a line of online usage', () => {
  it('gives time, job, task and its numbers', () => {
    const usage = parseOnlineUsage(line(7, 4096, { task_number: 3, pe_taskid: '1.node02' }).trim());
    assert.deepEqual(usage, {
      at: TIME / 1000,
      job: 7,
      task: 3,
      peTask: '1.node02',
      usage: new Map([
        ['cpu', 1.5],
        ['rss', 4096],
      ]),
    });
  });

  it('of no PE task, and with usage in containers', () => {
    for (const none of [null, '', 'none', 'NONE', undefined]) {
      const usage = parseOnlineUsage(line(7, 1, { pe_taskid: none, usage: { usage: { rss: 5 }, x: 'text' } }));
      assert.deepEqual([usage?.peTask, usage?.usage], [null, new Map([['rss', 5]])]);
    }
  });

  it('of other types, without a job, a time or numbers, is none', () => {
    assert.equal(parseOnlineUsage(line(7, 1, { type: 'acct' })), null);
    assert.equal(parseOnlineUsage(line(7, 1, { type: 'job_log', message: 'online_usage' })), null);
    assert.equal(parseOnlineUsage(line(7, 1, { job_number: 'x' })), null);
    assert.equal(parseOnlineUsage(line(7, 1, { time: 'now' })), null);
    assert.equal(parseOnlineUsage(line(7, 1, { usage: [1, 2] })), null);
    assert.equal(parseOnlineUsage(line(7, 1).slice(0, 40)), null);
  });

  it('of garbage never throws', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        assert.equal(parseOnlineUsage(text), null);
      }),
    );
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), fc.jsonValue(), (usage, job, time) => {
        const found = parseOnlineUsage(line(1, 1, { usage, job_number: job, time }));
        if (found !== null) for (const value of found.usage.values()) assert.ok(Number.isFinite(value));
      }),
    );
  });
});

describe('following a file', () => {
  it('gives each line once, whole ones only', (t) => {
    const file = path(t);
    const follower = followLines(file);
    t.after(() => follower.close());
    assert.deepEqual(looked(follower), { state: 'absent', lines: [] });
    writeFileSync(file, 'one\ntwo\nthr');
    assert.deepEqual(looked(follower), { state: 'read', lines: ['one', 'two'] });
    assert.deepEqual(looked(follower).lines, []);
    appendFileSync(file, 'ee\n\nfour\n');
    assert.deepEqual(looked(follower).lines, ['three', '', 'four']);
  });

  it('goes on through rotation, reading the old file to its end', (t) => {
    const file = path(t);
    writeFileSync(file, 'one\n');
    const follower = followLines(file);
    t.after(() => follower.close());
    assert.deepEqual(looked(follower).lines, ['one']);
    appendFileSync(file, 'two\n');
    renameSync(file, `${file}.0`);
    assert.deepEqual(looked(follower), { state: 'absent', lines: ['two'] });
    writeFileSync(file, 'three\n');
    assert.deepEqual(looked(follower), { state: 'read', lines: ['three'] });
    appendFileSync(file, 'four\nhalf');
    renameSync(file, `${file}.1`);
    writeFileSync(file, 'five\n');
    assert.deepEqual(looked(follower).lines, ['four', 'five']);
  });

  it('begins anew where the file was truncated', (t) => {
    const file = path(t);
    writeFileSync(file, 'one\ntwo\nhalf');
    const follower = followLines(file);
    t.after(() => follower.close());
    looked(follower);
    truncateSync(file, 0);
    appendFileSync(file, 'new\n');
    assert.deepEqual(looked(follower).lines, ['new']);
  });

  it('holds no more than it may: far behind it goes on with the newest, and long lines are skipped', (t) => {
    const file = path(t);
    const follower = followLines(file, { firstBytes: 20, mostBytes: 50, lineBytes: 30 });
    t.after(() => follower.close());
    writeFileSync(file, `${'early line\n'.repeat(10)}last\n`);
    assert.deepEqual(looked(follower).lines, ['early line', 'last']);
    appendFileSync(file, `${'x'.repeat(1000)}\nafter\n`);
    assert.deepEqual(looked(follower).lines, ['after']);
    appendFileSync(file, 'y'.repeat(40));
    assert.deepEqual(looked(follower).lines, []);
    appendFileSync(file, 'still the same\nnext\n');
    assert.deepEqual(looked(follower).lines, ['next']);
  });

  it('gives the same lines in whatever pieces they were written', (t) => {
    const file = path(t);
    fc.assert(
      fc.property(fc.array(fc.stringMatching(/^[a-z\n]{0,20}$/), { maxLength: 20 }), (pieces) => {
        writeFileSync(file, '');
        const follower = followLines(file);
        const lines: string[] = [];
        follower.look((text) => lines.push(text));
        for (const piece of pieces) {
          appendFileSync(file, piece);
          follower.look((text) => lines.push(text));
        }
        follower.close();
        assert.deepEqual(lines, pieces.join('').split('\n').slice(0, -1));
      }),
      { numRuns: 50 },
    );
  });
});

describe('following online usage', () => {
  it('knows the newest of each task and forgets what is old', (t) => {
    const file = path(t);
    writeFileSync(file, line(7, 1) + line(7, 2, { pe_taskid: '1.node02' }) + line(8, 3) + line(7, 4));
    const follower = followOnlineUsage(file, 60_000);
    t.after(() => follower.close());
    assert.equal(follower.look(), true);
    assert.deepEqual(
      follower.of(7).map(({ peTask, usage }) => [peTask, usage.get('rss')]),
      [
        [null, 4],
        ['1.node02', 2],
      ],
    );
    appendFileSync(file, line(8, 9, { time: TIME + 61_000_000 }));
    follower.look();
    assert.deepEqual(follower.of(7), []);
    assert.equal(follower.of(8)[0]?.usage.get('rss'), 9);
  });

  it('says where there is no such file', (t) => {
    const follower = followOnlineUsage(path(t), 1000);
    assert.equal(follower.look(), false);
    assert.deepEqual(follower.of(1), []);
    assert.equal(onlineUsageFile({ root: '/opt/ocs', cell: 'c' }), '/opt/ocs/c/common/reporting.jsonl');
  });
});
