/**
 * A live command that watches, as a process of its own inside a cell: `node live-program.js SETTINGS-AS-JSON pending?`.
 * Prints each snapshot as a line of JSON, with its time and source, until its standard input ends.
 */
import { liveSnapshot } from '../../src/live/live-snapshot';
import { liveCell, type LiveCell } from '../../src/live/poll-tools';
import { startPolling } from '../../src/live/polling';
import { plainSnapshot } from '../../src/live/snapshot-json';
import { DEFAULT_SETTINGS, type Settings } from '../../src/record/settings';

const settings: Settings = { ...DEFAULT_SETTINGS, ...(JSON.parse(process.argv[2] ?? '{}') as Partial<Settings>) };
const pending = process.argv[3] === 'pending';
let cell: LiveCell | null = null;

const polling = startPolling(
  settings,
  async (signal) => {
    const { snapshot, source, warning } = await liveSnapshot({
      settings,
      env: process.env,
      cell: () => (cell ??= liveCell(settings, process.env)),
      pending,
      signal,
    });
    process.stdout.write(
      `${JSON.stringify({ now: Date.now(), source, warning, snapshot: plainSnapshot(snapshot) })}\n`,
    );
    return snapshot;
  },
  () => undefined,
  (error) => {
    process.stderr.write(`${String(error)}\n`);
  },
);
process.stdin.resume();
process.stdin.once('end', () => void polling.stop().then(() => process.exit(0)));
