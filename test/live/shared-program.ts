/**
 * One live command as a process: `node shared-program.js DIRECTORY INTERVAL_MS STATES`. Takes the shared
 * snapshot once per interval until it has seen so many different ones, and prints each as a line of JSON.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { clientRunner } from '../../src/gridengine/client-command';
import { READERS } from '../../src/live/poll-tools';
import { poll, type PollRules } from '../../src/live/poller';
import { sharedState } from '../../src/live/shared-snapshot';

async function main([directory = '', interval = '', states = '']: readonly string[]): Promise<void> {
  const rules: PollRules = { intervalMs: Number(interval), usageIntervalMs: 3_600_000 };
  const run = clientRunner({ env: process.env, cell: null, timeoutMs: 60_000 });
  const tools = { run, readers: READERS, now: Date.now };
  for (const seen = new Set<number | null>(); ;) {
    const { snapshot } = await sharedState({
      directory,
      cluster: 'shared',
      cell: null,
      rules,
      pending: false,
      poll: (before) => poll(before, rules, tools, false),
      longestPollMs: 120_000,
    });
    const { running, hosts } = snapshot;
    process.stdout.write(
      `${JSON.stringify({ at: running.at, jobs: running.value.map(({ job }) => job), problem: hosts.problem })}\n`,
    );
    if (seen.add(running.at).size === Number(states)) return;
    await sleep(rules.intervalMs);
  }
}

void main(process.argv.slice(2));
