import { join } from 'node:path';
import { viewCluster } from '../../src/live/view';
import { DEFAULT_SETTINGS } from '../../src/record/settings';
import { AccountingThread } from '../../src/server/accounting/accounting-thread';
import { LiveState } from '../../src/server/live/live-state';
import { startServer } from '../../src/server/start-server';
import { busySnapshots } from '../live/busy-snapshot';
import { USUAL_RULES } from '../../src/record/request-rules';

/**
 * A server for a cluster of HOSTS hosts with JOBS jobs, a new snapshot every 10 s:
 *
 *   node serve-site.js DIRECTORY HOSTS JOBS      prints its port; ends when its standard input does
 */

async function main([directory = '', hosts = '', jobs = '']: readonly string[]): Promise<void> {
  const snapshotAt = busySnapshots(Number(hosts), Number(jobs));
  const live = new LiveState({
    makeView: (given) => viewCluster(given, [], { rules: USUAL_RULES, nowMs: Date.now() }),
    log: console.error,
    overdueMs: 60_000,
    now: Date.now,
  });
  const put = (): void => live.put(snapshotAt(Date.now()));
  put();
  const timer = setInterval(put, DEFAULT_SETTINGS.poll_interval * 1000);
  const server = await startServer({
    settings: DEFAULT_SETTINGS,
    addresses: [{ kind: 'tcp', address: '127.0.0.1', port: 0 }],
    live,
    accounting: new AccountingThread({ path: join(directory, 'accounting.db') }),
    advice: new AccountingThread({ path: join(directory, 'accounting.db') }),
    version: '0',
    log: console.error,
  });
  const [first] = server.addresses;
  console.log(first?.kind === 'tcp' ? first.port : 0);
  process.stdin.resume().on('end', () => {
    clearInterval(timer);
    void server.stop();
  });
}

void main(process.argv.slice(2));
