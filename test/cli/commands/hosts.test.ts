import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { LiveSources } from '../../../src/cli/live/sources';
import { AT, noAnswer, sampleSnapshot } from '../../live/snapshots';
import { fakeLiveSources } from '../fake-live-sources';
import { runCommand, type Answer } from '../../support/qmemacct';

process.env.TZ = 'Europe/Berlin';

function hosts(words: readonly string[], sources: LiveSources = fakeLiveSources()): Promise<Answer> {
  return runCommand(['hosts', ...words, '--config', '/dev/null'], { now: () => new Date(AT + 3000) }, { sources });
}

interface Json {
  readonly hosts: readonly { readonly host: string; readonly jobs: readonly { readonly job_id: number }[] }[];
}

async function jobsByHost(...words: readonly string[]): Promise<readonly (readonly [string, readonly number[]])[]> {
  const { output } = await hosts([...words, '--json']);
  return (JSON.parse(output) as Json).hosts.map(
    ({ host, jobs }) => [host, jobs.map(({ job_id: job }) => job)] as const,
  );
}

describe('qmemacct hosts', () => {
  it('shows a line per host, the totals and a legend', async () => {
    const { status, output, warnings } = await hosts([]);
    assert.deepEqual([status, warnings], [0, '']);
    assert.match(output, /^4 hosts in cluster default .*\n\nhost +memory +% +used +requested /);
    assert.match(output, /\nnode03 .*down \+1\n/);
    assert.match(output, /\nTotal .* 14\.3 GiB used of 37\.5 GiB requested \(38 %\)/);
    assert.match(output, /\nStranded +8 slots on hosts without free memory\n/);
    assert.match(output, /█ used +▒ requested +· free/);
    assert.doesNotMatch(output, /master/);
  });

  it('shows the jobs on each host and their tasks with -u', async () => {
    const { output } = await hosts(['-u', '-H', 'node01']);
    assert.match(output, /^1 of 4 hosts/);
    assert.match(output, /\n {2}master +103 +bob +mpi .*\n +\(master\) +2\.00 GiB .*\n +task +1\.node01 +1\.00 GiB /);
    assert.match(output, /\n +\(ended\) +1\.25 GiB\n/);
  });

  it('filters hosts by name, and hosts and jobs by job or owner', async () => {
    assert.deepEqual(await jobsByHost('-o', 'bob'), [
      ['node01', [103, 104]],
      ['node02', [103, 104]],
    ]);
    assert.deepEqual(await jobsByHost('-j', '102.3'), [['node02', [102]]]);
    assert.deepEqual(await jobsByHost('-j', '103', '-o', 'bob', '-H', '*1'), [['node01', [103]]]);
    assert.deepEqual(
      (await jobsByHost('-H', 'node0[1],node04')).map(([host]) => host),
      ['node04.example.org'],
    );
    assert.match((await hosts(['-o', 'dave'])).output, /\n {2}master +106 +dave /);
  });

  it('sorts hosts by a key, or in reverse order', async () => {
    const order = async (...words: readonly string[]): Promise<readonly string[]> =>
      (await jobsByHost(...words)).map(([host]) => host.slice(0, 6));
    assert.deepEqual(await order('--sort', 'percent'), ['node04', 'node01', 'node02', 'node03']);
    assert.deepEqual(await order('-r'), ['node04', 'node03', 'node02', 'node01']);
  });

  it('prints CSV of hosts, or of jobs on hosts', async () => {
    assert.match((await hosts(['--csv'])).output, /^host,up,/);
    assert.match((await hosts(['--csv', '-u'])).output, /^host,job_id,/);
  });

  it('ends with status 1 where no host matches, 3 where qhost never answered, 2 on a usage error', async () => {
    assert.equal((await hosts(['-H', 'nowhere'])).status, 1);
    const none = { ...sampleSnapshot(), hosts: noAnswer([], 'qhost: denied') };
    const { status, warnings } = await hosts([], fakeLiveSources(none));
    assert.equal(status, 3);
    assert.match(warnings, /^qmemacct: qhost: denied\n/);
    for (const words of [['--sort', 'x'], ['-o', ' '], ['--watch'], ['node01']])
      assert.equal((await hosts(words)).status, 2, words.join(' '));
  });
});
