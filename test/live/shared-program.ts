/**
 * One live command, as a process of its own: `node shared-program.js DIRECTORY INTERVAL_MS POLLS [pending]`. Takes the
 * shared snapshot so many times, an interval apart, and prints what it saw, one line of JSON each.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { clientRunner } from '../../src/gridengine/client-command';
import { READERS } from '../../src/live/poll-tools';
import { poll, type PollRules } from '../../src/live/poller';
import { sharedState } from '../../src/live/shared-snapshot';

async function main([directory = '', interval = '', polls = '', pending]: readonly string[]): Promise<void> {
  const rules: PollRules = { intervalMs: Number(interval), usageIntervalMs: 3_600_000 };
  const run = clientRunner({ env: process.env, cell: null, timeoutMs: 60_000 });
  const tools = { run, readers: READERS, now: Date.now };
  for (let count = 0; count < Number(polls); count++) {
    if (count > 0) await sleep(rules.intervalMs);
    const { snapshot } = await sharedState({
      directory,
      cluster: 'shared',
      cell: null,
      rules,
      pending: pending === 'pending',
      poll: (before) => poll(before, rules, tools, pending === 'pending'),
      longestPollMs: 120_000,
    });
    const { running, hosts } = snapshot;
    process.stdout.write(
      `${JSON.stringify({ at: running.at, jobs: running.value.map(({ job }) => job), problem: hosts.problem })}\n`,
    );
  }
}

void main(process.argv.slice(2));
