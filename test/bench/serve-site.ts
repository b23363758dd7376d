import { join } from 'node:path';
import type { QhostHost, QhostJob } from '../../src/gridengine/qhost/qhost-report';
import type { JobDetail } from '../../src/gridengine/qstat/job-detail';
import type { ListedJob } from '../../src/gridengine/qstat/job-list';
import { viewCluster } from '../../src/live/view';
import { DEFAULT_SETTINGS } from '../../src/record/settings';
import { LiveState } from '../../src/server/live/live-state';
import { startServer } from '../../src/server/start-server';
import { answer, detail, GIB, hard, host, listed, row, snapshot, taskDetail, usage } from '../live/snapshots';
import { USUAL_RULES } from '../../src/record/request-rules';

/**
 * A server for a cluster of HOSTS hosts with JOBS jobs, a new snapshot every 10 s:
 *
 *   node serve-site.js DIRECTORY HOSTS JOBS      says its port; ends with its standard input
 */

const USERS = 40;

interface Parts {
  readonly hosts: QhostHost[];
  readonly running: ListedJob[];
  readonly details: JobDetail[];
}

function partsOf(hosts: number, jobs: number): Parts {
  const rows: QhostJob[][] = Array.from({ length: hosts }, () => []);
  const running: ListedJob[] = [];
  const details: JobDetail[] = [];
  for (let index = 0; index < jobs; index++) {
    const job = 1_000_000 + index;
    const owner = `user${index % USERS}`;
    const where = index % hosts;
    const requests = [hard('4G')];
    rows[where]?.push(row(job, { owner }));
    running.push(listed(job, `all.q@node${where}`, { owner, requests }));
    const request = { ...hard('4G'), amount: 4 * GIB };
    details.push(detail(job, [taskDetail(usage(1 + (index % 30) / 10))], { owner, requests: [request] }));
  }
  return { hosts: rows.map((ofHost, index) => host(`node${index}`, { jobs: ofHost })), running, details };
}

async function main([directory = '', hosts = '', jobs = '']: readonly string[]): Promise<void> {
  const { hosts: hostList, running, details } = partsOf(Number(hosts), Number(jobs));
  const live = new LiveState({
    makeView: (given) => viewCluster(given, [], { rules: USUAL_RULES, nowMs: Date.now() }),
    log: console.error,
    overdueMs: 60_000,
    now: Date.now,
  });
  const put = (): void => {
    const times = { at: Date.now(), triedAt: Date.now() };
    live.put(
      snapshot({ hosts: answer(hostList, times), running: answer(running, times), details: answer(details, times) }),
    );
  };
  put();
  const timer = setInterval(put, DEFAULT_SETTINGS.poll_interval * 1000);
  const server = await startServer({
    settings: { ...DEFAULT_SETTINGS, accounting: join(directory, 'accounting.db') },
    addresses: [{ kind: 'tcp', address: '127.0.0.1', port: 0 }],
    live,
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
