import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { LiveSources } from '../../../src/cli/live/sources';
import type { Terminal } from '../../../src/cli/terminal';
import {
  AT,
  GIB,
  listed,
  noAnswer,
  running,
  sampleRecords,
  sampleSnapshot,
  snapshot,
  answer,
} from '../../live/snapshots';
import { fakeLiveSources } from '../fake-live-sources';
import { runCommand, type Answer } from '../../support/qmemacct';

process.env.TZ = 'Europe/Berlin';

function live(
  words: readonly string[],
  sources: LiveSources = fakeLiveSources(),
  changes: Partial<Terminal> = {},
): Promise<Answer> {
  return runCommand(
    ['live', ...words, '--config', '/dev/null'],
    { now: () => new Date(AT + 3000), ...changes },
    { sources },
  );
}

interface Json {
  readonly jobs: readonly { readonly job_id: number; readonly task_id: number | null }[];
  readonly pending: readonly { readonly job_id: number }[] | null;
}

async function jobs(...words: readonly string[]): Promise<readonly string[]> {
  const { output } = await live([...words, '--json']);
  const { jobs: found } = JSON.parse(output) as Json;
  return found.map(({ job_id: job, task_id: task }) => (task === null ? String(job) : `${job}.${task}`));
}

describe('qmemacct live', () => {
  it('shows the running jobs, and none that wait', async () => {
    const { status, output, warnings } = await live([]);
    assert.deepEqual([status, warnings], [0, '']);
    assert.match(output, /^12 running in cluster default +13:00:00, 3 s old\n\njob +owner +name /);
    assert.match(output, /\n101 +alice +serial +r +node01 .* 13:37\n/);
    assert.doesNotMatch(output, /Waiting/);
  });

  it('prints the XML of qstat with --xml, and refuses other formats with it', async () => {
    const { status, output } = await live(['--xml', '-o', 'bob']);
    assert.deepEqual([status, output.match(/<JB_owner>bob</g)?.length], [0, 2]);
    const wrong = [['--xml', '--json'], ['--xml', '--at-risk'], ['--xml', '--watch'], ['--full']];
    for (const words of wrong) assert.equal((await live(words)).status, 2, words.join(' '));
  });

  it('shows only jobs that match all filters', async () => {
    assert.deepEqual(await jobs('--owner', 'bob', '--sort', 'job'), ['103', '104']);
    assert.deepEqual(await jobs('-o', 'b*,dave', '--sort', 'job'), ['103', '104', '106']);
    assert.deepEqual(await jobs('--owner', 'bob', '--job', '104'), ['104']);
    assert.deepEqual(await jobs('-H', 'node03'), ['108']);
    assert.deepEqual(await jobs('-q', 'all.q@node04*', '--sort', 'job'), ['105', '110']);
    assert.deepEqual(await jobs('-P', '<i>*'), ['107']);
  });

  it('sorts, reverses and limits', async () => {
    assert.deepEqual(await jobs('--limit', '2'), ['107', '106']);
    assert.deepEqual(await jobs('--sort', 'request', '--limit', '2'), ['103', '108']);
    assert.deepEqual(await jobs('--sort', 'job', '-r', '--limit', '1'), ['110']);
    assert.deepEqual(await jobs('--sort', 'risk', '--limit', '1'), ['101']);
  });

  it('shows waiting jobs with --pending, and asks Grid Engine for them only then', async () => {
    const sources = fakeLiveSources();
    const { output } = await live(['--pending'], sources);
    assert.match(output, /\nWaiting: 2 jobs\njob .*\n201\.1-100:1 +alice /);
    await live([], sources);
    assert.deepEqual(sources.asked, [true, false]);
    const json = JSON.parse((await live(['--pending', '--json', '--owner', 'dave'])).output) as Json;
    assert.deepEqual(
      json.pending?.map(({ job_id: job }) => job),
      [202],
    );
  });

  it('ends with status 1 where no job matches', async () => {
    const { status, output } = await live(['--owner', 'nobody']);
    assert.equal(status, 1);
    assert.match(output, /\nNo running job matches\.\n/);
    assert.equal((await live(['--owner', 'nobody', '--csv'])).output.split('\n').length, 2);
  });

  it('warns of problems beside the answer, without control characters', async () => {
    const old = { ...sampleSnapshot(), running: { ...sampleSnapshot().running, problem: 'qmaster is down\u001b[2J' } };
    const { status, output, warnings } = await live([], fakeLiveSources(old, sampleRecords(), 'no server'));
    assert.equal(status, 0);
    assert.match(output, /12 running/);
    assert.equal(warnings, 'qmemacct: qmaster is down\\x1b[2J\nqmemacct: no server\n');
  });

  it("warns where the samplers' figures can't be read, and ends with status 0", async () => {
    const sources = { ...fakeLiveSources(), running: () => Promise.reject(new Error('database is locked')) };
    const { status, warnings } = await live([], sources);
    assert.equal(status, 0);
    assert.match(warnings, /the figures of our own samplers are missing: database is locked/);
  });

  it('ends with status 3 where Grid Engine has never answered', async () => {
    const none = snapshot({ hosts: noAnswer([], 'qhost: qmaster can not be reached'), running: noAnswer([]) });
    const { status, output, warnings } = await live([], fakeLiveSources(none, []));
    assert.deepEqual([status, output, warnings], [3, '', 'qmemacct: qhost: qmaster can not be reached\n']);
    const silent = await live([], fakeLiveSources(snapshot({ hosts: noAnswer([]), running: noAnswer([]) }), []));
    assert.match(silent.warnings, /Grid Engine has not answered yet/);
  });

  it("learns from the samplers' records whether h_vmem is per job or per slot", async () => {
    const of = snapshot({
      running: answer([
        listed(1, 'all.q@node01', { slots: 4, requests: [{ complex: 'h_vmem', value: '4G', kind: 'hard' }] }),
      ]),
    });
    const limitOf = async (per: 'slot' | 'job'): Promise<number | null | undefined> => {
      const record = running(1, 'node01', [GIB], { h_vmem: { request_bytes: 4 * GIB, limit_bytes: 4 * GIB, per } });
      const { output } = await live(['--json'], fakeLiveSources(of, [record]));
      return (JSON.parse(output) as { jobs: { limit_bytes: number | null }[] }).jobs[0]?.limit_bytes;
    };
    assert.deepEqual([await limitOf('job'), await limitOf('slot')], [4 * GIB, 16 * GIB]);
  });

  it('ends with status 2 on a usage error', async () => {
    for (const words of [
      ['--sort', 'colour'],
      ['--limit', '0'],
      ['--owner', ','],
      ['--within', 'soon'],
      ['--watch'],
      ['--watch', '--json'],
      ['--json', '--csv'],
      ['extra'],
    ]) {
      const { status, output, warnings } = await live(words);
      assert.deepEqual([status, output], [2, ''], words.join(' '));
      assert.match(warnings, /^qmemacct: (?:.+\n){1,3}$/);
    }
    const onTerminal = { isTTY: true, columns: 80 };
    for (const words of [
      ['--watch', '0'],
      ['--watch', 'x'],
      ['--watch', '--at-risk'],
      ['--watch', '--csv'],
    ])
      assert.equal((await live(words, fakeLiveSources(), onTerminal)).status, 2, words.join(' '));
  });
});

describe('qmemacct live --at-risk', () => {
  it('shows a line for each job that will reach its limit', async () => {
    const { status, output } = await live(['--at-risk']);
    assert.equal(status, 0);
    const [first, second, end] = output.split('\n');
    assert.match(first ?? '', /^__proto__'s job 107 \(.*\) on node02 has reached its limit: 512 MiB of 512 MiB$/);
    assert.match(
      second ?? '',
      /^alice's job 101 \(serial\) on node01 reaches its limit at 13:37 \(in 0:36:57.*\): .*growth$/,
    );
    assert.equal(end, '');
  });

  it('shows only jobs that reach their limit within --within, and that the filters select', async () => {
    assert.doesNotMatch((await live(['--at-risk', '--within', '30m'])).output, /101/);
    assert.match((await live(['--at-risk', '--within', '1h'])).output, /101/);
    assert.deepEqual(await jobs('--at-risk', '--owner', 'alice'), ['101']);
    assert.deepEqual(await jobs('--at-risk', '--limit', '1'), ['107']);
  });

  it('prints nothing where no job is at risk, so that cron sends no mail', async () => {
    assert.deepEqual(await live(['--at-risk', '--owner', 'bob']), { status: 1, output: '', warnings: '' });
  });

  it('prints no colours, not even on a terminal', async () => {
    const { output } = await live(['--at-risk'], fakeLiveSources(), {
      isTTY: true,
      columns: 80,
      env: { TERM: 'xterm' },
    });
    assert.ok(!output.includes('\u001b'));
    assert.equal(output.trimEnd().split('\n').length, 2);
  });
});
