import type { ClusterView, JobPart, JobView, Trend } from '../../../src/live/cluster-view';
import { viewCluster } from '../../../src/live/view';
import { createScreen, type Screen, type ScreenOptions } from '../../../src/report/screen/screen';
import { AT, GIB, MIB, sampleRecords, sampleSnapshot } from '../../live/snapshots';
import { USUAL_RULES } from '../../../src/record/request-rules';

/** Three seconds after the samples were taken. */
export const NOW = new Date(AT + 3000);

/** The view of the sample cluster, with waiting jobs. */
export function sampleView(changes: Partial<ClusterView> = {}): ClusterView {
  const view = viewCluster(sampleSnapshot(), sampleRecords(), {
    rules: USUAL_RULES,
    nowMs: NOW.getTime(),
  });
  return { ...view, ...changes };
}

export function liveScreen(options: Partial<ScreenOptions> = {}): Screen {
  return createScreen({ width: 100, now: NOW, colour: false, unicode: true, widest: 400, ...options });
}

/** A trend that reaches the limit so many minutes from now. */
export function trendIn(minutes: number, changes: Partial<Trend> = {}): Trend {
  const at = NOW.getTime() + minutes * 60_000;
  return {
    slope: MIB,
    overSeconds: 1200,
    limitAt: at,
    earliest: at - 120_000,
    latest: at + 240_000,
    confidence: 'high',
    ...changes,
  };
}

const PART: JobPart = {
  host: 'node01',
  job: 1,
  task: null,
  owner: 'alice',
  name: 'job1',
  slots: 1,
  master: true,
  alone: true,
  limit: 4 * GIB,
  limitState: 'limited',
  reserved: 4 * GIB,
  masterMaxvmem: GIB,
  masterVmem: GIB,
  tasks: [],
  measure: 'rss_swap_sum',
  pastMaxvmem: null,
  ours: null,
  trend: null,
};

const JOB: JobView = {
  job: 1,
  task: null,
  name: 'job1',
  owner: 'alice',
  uid: '1001',
  project: null,
  state: 'r',
  queue: 'all.q',
  pe: null,
  slots: 1,
  startedAt: AT - 3_600_000,
  submittedAt: AT - 3_660_000,
  requests: [{ complex: 'h_vmem', kind: 'hard', text: '4G', bytes: 4 * GIB }],
  complex: 'h_vmem',
  limit: 4 * GIB,
  limitState: 'limited',
  timeLimit: null,
  vmem: GIB,
  maxvmem: GIB,
  measure: 'rss_swap_sum',
  cpuSeconds: 100,
  ours: null,
  trend: null,
  parts: [PART],
};

/** A job on one host. */
export function oneJob(job: number, changes: Partial<JobView> = {}, part: Partial<JobPart> = {}): JobView {
  const { name = `job${job}`, owner = 'alice', task = null } = changes;
  return { ...JOB, job, name, ...changes, parts: [{ ...PART, job, name, owner, task, ...part }] };
}

/** Jobs of a large cluster, all different. */
export function manyJobs(count: number): readonly JobView[] {
  return Array.from({ length: count }, (_, index) => {
    const used = ((index * 7919) % 4096) * MIB;
    const ours = { rss: used, lower: used, upper: used + MIB, at: AT - (index % 60) * 1000 };
    return oneJob(
      1000 + index,
      {
        owner: `user${index % 97}`,
        vmem: used,
        maxvmem: used,
        ours,
        trend: index % 5 === 0 ? trendIn(index % 600) : null,
      },
      { host: `node${index % 400}` },
    );
  });
}
