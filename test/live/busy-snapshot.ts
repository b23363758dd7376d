import type { QhostJob } from '../../src/gridengine/qhost/qhost-report';
import type { JobDetail } from '../../src/gridengine/qstat/job-detail';
import type { ListedJob } from '../../src/gridengine/qstat/job-list';
import type { Snapshot } from '../../src/live/snapshot';
import {
  answer,
  detail,
  GIB,
  hard,
  host,
  listed,
  queue,
  resource,
  row,
  snapshot,
  taskDetail,
  usage,
} from './snapshots';

const USERS = 40;
const REQUESTS_GIB = [2, 4, 8] as const;
const KINDS = ['align', 'train', 'fit', 'merge', 'sim'] as const;
const SLOTS = 16;
const HOST_GIB = 62;

/** Makes snapshots of a cluster with so many one-slot jobs; one in 67 comes close to its limit. */
export function busySnapshots(hosts: number, jobs: number): (at: number) => Snapshot {
  const rows: QhostJob[][] = Array.from({ length: hosts }, () => []);
  const requested = Array.from({ length: hosts }, () => 0);
  const running: ListedJob[] = [];
  const details: JobDetail[] = [];
  for (let index = 0; index < jobs; index++) {
    const job = 1_000_000 + index;
    const gib = REQUESTS_GIB[index % REQUESTS_GIB.length] ?? 4;
    const who = { owner: `user${index % USERS}`, name: `${KINDS[index % KINDS.length] ?? ''}_${index % 97}` };
    const where = (index * 7) % hosts;
    const share = index % 67 === 7 ? 0.97 : 0.1 + ((index * 37) % 80) / 100;
    requested[where] = (requested[where] ?? 0) + gib;
    rows[where]?.push(row(job, who));
    running.push(listed(job, `all.q@node${where}`, { ...who, requests: [hard(`${gib}G`)] }));
    const request = { ...hard(`${gib}G`), amount: gib * GIB };
    details.push(detail(job, [taskDetail(usage(gib * share))], { ...who, requests: [request] }));
  }
  const all = rows.map((ofHost, index) =>
    host(`node${index}`, {
      jobs: ofHost,
      queues: [queue('all.q', ofHost.length, Math.max(SLOTS, ofHost.length))],
      resources: [resource('h_vmem', `${Math.max(0, HOST_GIB - (requested[index] ?? 0))}.000G`)],
    }),
  );
  return (at) => {
    const times = { at, triedAt: at };
    return snapshot({ hosts: answer(all, times), running: answer(running, times), details: answer(details, times) });
  };
}
