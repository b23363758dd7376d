import { emptyRecord, type Bracket, type JobRecord } from '../../../src/record/record';
import { bracketOf } from '../../support/records';

const GIB = 1024 ** 3;
const DAY_MS = 86_400_000;

/** The last day of the sample cluster, local time of Berlin. */
export const NIGHT = { since: new Date('2026-11-19T23:00:00Z'), until: new Date('2026-11-20T23:00:00Z') } as const;

/** Pseudo-random numbers in [0, 1), the same for each seed: a linear congruential generator. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

function bracket(bytes: number): Bracket {
  return bracketOf(Math.round(bytes), null, {
    ...{ open: ['no-exit-records'], sources: ['sample', 'mark'], command: 'python3' },
  });
}

interface Kind {
  readonly owner: string;
  readonly project: string;
  readonly name: string;
  readonly queue: string;
  readonly slots: number;
  /** GiB per slot. */
  readonly askedGib: number;
  /** As a share of the request. */
  readonly peak: number;
  readonly hours: number;
  readonly cpu: number;
  readonly weight: number;
}

const KINDS: readonly Kind[] = [
  {
    owner: 'mweber',
    project: 'genomics',
    name: 'star_align',
    queue: 'all.q',
    slots: 8,
    askedGib: 8,
    peak: 0.46,
    hours: 3,
    cpu: 0.78,
    weight: 10,
  },
  {
    owner: 'ljensen',
    project: 'imaging',
    name: 'segment_3',
    queue: 'all.q',
    slots: 1,
    askedGib: 32,
    peak: 0.07,
    hours: 2.2,
    cpu: 0.93,
    weight: 14,
  },
  {
    owner: 'ljensen',
    project: 'imaging',
    name: 'train-unet',
    queue: 'gpu.q',
    slots: 4,
    askedGib: 16,
    peak: 0.3,
    hours: 7,
    cpu: 0.4,
    weight: 2,
  },
  {
    owner: 'akhan',
    project: 'physics',
    name: 'mc_sim',
    queue: 'all.q',
    slots: 1,
    askedGib: 4,
    peak: 0.81,
    hours: 1.4,
    cpu: 0.98,
    weight: 24,
  },
  {
    owner: 'rossi',
    project: 'chemistry',
    name: 'orca_opt',
    queue: 'long.q',
    slots: 16,
    askedGib: 4,
    peak: 0.6,
    hours: 6,
    cpu: 0.88,
    weight: 3,
  },
  {
    owner: 'tanaka',
    project: 'climate',
    name: 'regrid.2026-11',
    queue: 'all.q',
    slots: 2,
    askedGib: 12,
    peak: 0.22,
    hours: 1.1,
    cpu: 0.35,
    weight: 9,
  },
  {
    owner: 'dupont',
    project: 'genomics',
    name: 'qc',
    queue: 'short.q',
    slots: 1,
    askedGib: 2,
    peak: 0.35,
    hours: 0.2,
    cpu: 0.7,
    weight: 30,
  },
];

/** Names that could harm a terminal, a spreadsheet or a page. */
export const HOSTILE = {
  owner: `=cmd()|'<script>alert(1)</script>`,
  name: `<img src=x onerror=alert(1)>"'&\u202eexe.gpj\u001b[31m${'very-long-name'.repeat(20)}`,
  host: 'node<b>66</b>',
} as const;

/** `count` ended records of the day before `until`, of several owners, all kinds of jobs. */
export function sampleDay(until: number, count: number, seed: number, firstJob: number): JobRecord[] {
  const next = numbers(seed);
  const total = KINDS.reduce((sum, { weight }) => sum + weight, 0);
  return Array.from({ length: count }, (_, index): JobRecord => {
    let pick = next() * total;
    const kind = KINDS.find(({ weight }) => (pick -= weight) < 0);
    if (kind === undefined) throw new Error('no kind of job was picked');
    const end = until - 1 - Math.floor(next() * DAY_MS);
    const seconds = Math.max(20, Math.round(kind.hours * 3600 * (0.4 + 1.2 * next())));
    const limit = kind.askedGib * kind.slots * GIB;
    const share = Math.min(0.99, kind.peak * (0.6 + 0.9 * next()));
    const chance = next();
    const killed = kind.name === 'mc_sim' && chance < 0.06;
    const failed = !killed && chance > 0.97;
    const accounting = !killed && chance > 0.6 && chance < 0.63;
    const unsampled = !killed && chance > 0.63 && chance < 0.64;
    const peak = killed ? 0.995 * limit : share * limit;
    const array = kind.name === 'segment_3' || kind.name === 'qc';
    const host = `node${String(1 + Math.floor(next() * 12)).padStart(2, '0')}`;
    const start = end - seconds * 1000;
    const known = !accounting && !unsampled;
    return {
      ...emptyRecord(
        {
          cluster: 'biology',
          job_id: array ? firstJob + (kind.name === 'qc' ? 1 : 0) : firstJob + 10 + index,
          task_id: array ? index + 1 : null,
          pe_task_id: null,
          host,
          run_id: accounting ? `accounting.${Math.floor(start / 1000)}` : `1f2e3d4c.${1000 + index}.${90_000 + seed}`,
        },
        unsampled ? 'unsampled' : 'finished',
        accounting ? 'accounting' : unsampled ? 'usage' : 'root',
        end,
      ),
      owner: kind.owner,
      job_name: kind.name,
      queue: kind.queue,
      project: kind.project,
      pe: kind.slots > 1 ? 'smp' : null,
      slots: kind.slots,
      host_slots: kind.slots,
      submitted_at: new Date(until - DAY_MS).toISOString(),
      started_at: new Date(start).toISOString(),
      ended_at: new Date(end).toISOString(),
      exit_status: killed ? 137 : failed ? 1 : 0,
      signal: killed ? 9 : 0,
      failed: killed ? 37 : 0,
      h_vmem: { request_bytes: kind.askedGib * GIB, limit_bytes: limit, per: 'slot' },
      peak_rss: known ? bracket(peak) : null,
      peak_rss_swap: known ? bracket(peak) : null,
      peak_process_vmem: known ? bracket(peak * 1.02 + 20_000_000) : null,
      wallclock_seconds: seconds,
      cpu_seconds: Math.round(seconds * kind.slots * kind.cpu),
      samples: known ? seconds : null,
      rss_byte_seconds: known ? Math.round(peak * 0.7 * seconds) : null,
      notes: unsampled ? [`Not sampled: h_vmem=${kind.askedGib}G leaves no room for a sampler.`] : [],
      metrics: known ? { energy_package_joules: Math.round(seconds * kind.slots * kind.cpu * 6.5) } : {},
    };
  });
}

/** A night of `NIGHT` with the week before it, a silent host, a lost sampler, and jobs with hostile names. */
export function sampleCluster(perDay = 240): JobRecord[] {
  const until = NIGHT.until.getTime();
  const records = Array.from({ length: 8 }, (_, back) =>
    sampleDay(until - back * DAY_MS, perDay, 42 + back, 400_000 + (8 - back) * 1000),
  ).flat();
  const since = NIGHT.since.getTime();
  const isLast = (record: JobRecord): boolean => Date.parse(record.ended_at ?? '') >= since;
  const silenced = records.map((record): JobRecord =>
    record.host === 'node07' && isLast(record)
      ? {
          ...record,
          run_id: `accounting.${Date.parse(record.started_at ?? '') / 1000}`,
          trust: 'accounting',
          peak_rss: null,
          peak_rss_swap: null,
          peak_process_vmem: null,
          rss_byte_seconds: null,
          samples: null,
          metrics: {},
        }
      : record,
  );
  const [model] = silenced.filter((record) => isLast(record) && record.trust === 'root');
  if (model === undefined) throw new Error('no record of the last day');
  const hostile: JobRecord = {
    ...model,
    job_id: 499_001,
    owner: HOSTILE.owner,
    job_name: HOSTILE.name,
    host: HOSTILE.host,
    project: '-\u202eteam',
    run_id: '1f2e3d4c.66.66',
    wallclock_seconds: 30_000,
    h_vmem: { request_bytes: 64 * GIB, limit_bytes: 64 * GIB, per: 'slot' },
  };
  const lost: JobRecord = {
    ...model,
    job_id: 499_002,
    host: 'node09',
    run_id: '1f2e3d4c.67.67',
    status: 'lost',
    failed: null,
    ended_at: null,
    started_at: new Date(until - 4_000_000).toISOString(),
    wallclock_seconds: null,
    exit_status: null,
    signal: null,
    revision: until - 1,
  };
  return [...silenced, hostile, lost];
}
