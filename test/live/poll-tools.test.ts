import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { liveCell, pollRules } from '../../src/live/poll-tools';
import { newPollState, poll } from '../../src/live/poller';
import { DEFAULT_SETTINGS } from '../../src/record/settings';
import { fakeClients } from '../gridengine/fake-clients';
import { temporaryDirectory } from '../support/temporary-directory';

function cellAt(name: string): string {
  const root = temporaryDirectory();
  const common = join(root, 'seven/common');
  mkdirSync(common, { recursive: true });
  writeFileSync(join(common, 'bootstrap'), '');
  writeFileSync(join(common, 'cluster_name'), `${name}\n`);
  return root;
}

describe('liveCell', () => {
  it('takes the cell from the environment and the rest from the settings', () => {
    const env = { SGE_ROOT: cellAt('p6444'), SGE_CELL: 'seven' };
    const found = liveCell(DEFAULT_SETTINGS, env);
    assert.deepEqual([found.cell?.root, found.cell?.cell], [env.SGE_ROOT, 'seven']);
    assert.equal(found.cluster, 'p6444');
    assert.equal(liveCell({ ...DEFAULT_SETTINGS, cluster: 'named' }, env).cluster, 'named');
    assert.deepEqual(found.rules, { intervalMs: 10_000, usageIntervalMs: 40_000, slackMs: 1000 });
    assert.equal(pollRules({ ...DEFAULT_SETTINGS, poll_interval: 1 }).slackMs, 100);
  });

  it('asks this cell, with the time limit of the settings', async () => {
    const root = cellAt('slow');
    const fake = fakeClients(root);
    fake.put('qstat', 'sleep 600');
    const env = { ...process.env, SGE_ROOT: root, SGE_CELL: 'seven', PATH: `${fake.bin}:/usr/bin:/bin` };
    // On a busy machine the script may take more than 0.3 s to reach its first line.
    for (let seconds = 0.3; fake.calls('qstat').length === 0; seconds *= 4) {
      assert.ok(seconds < 60);
      const { cluster, rules, tools } = liveCell({ ...DEFAULT_SETTINGS, command_timeout: seconds }, env);
      const { snapshot } = await poll(newPollState(cluster), rules, tools, true);
      for (const answer of [snapshot.running, snapshot.hosts, snapshot.details, snapshot.pending])
        assert.ok(answer?.problem?.startsWith(`qstat did not answer within ${seconds} s`), answer?.problem ?? '');
    }
    assert.deepEqual(fake.calls('qstat'), ['-u * -s p -r -ext -urg -xml']);
  });
});
