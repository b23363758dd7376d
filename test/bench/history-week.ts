import type { Bracket, JobRecord, RecordKey } from '../../src/record/record';
import { realisticRecords, seededRandom } from '../accounting/realistic-record';

/**
 * One week of a site of 500 hosts: its jobs as records of the sampler and lines of accounting(5). Memory and time are
 * log-normal, owners and names follow Zipf's law. The same seed makes the same week.
 */

const GIB = 2 ** 30;
export const WEEK_MS = 7 * 86_400_000;
const HOSTS = 500;

export const hostName = (number: number): string =>
  `node${String(number % HOSTS).padStart(4, '0')}.cluster.example.org`;
const OWNERS = 400;
const PROJECTS = 40;
const QUEUES = ['all.q', 'long.q', 'short.q', 'gpu.q', 'bigmem.q'] as const;
const REQUESTS_GIB = [1, 2, 4, 8, 16, 32, 64, 128] as const;
const BOOTS = 60;

/** One run of a job, an array task or a task of a parallel job on a host. */
export interface WeekRun {
  /** Counted from 0 in this week. */
  readonly job: number;
  readonly line: WeekLine;
  /** The sampler's record, with `job` as its number; null where no hooks ran. */
  readonly record: JobRecord | null;
}

/** A line of the accounting file in pieces: the text before, between and after its job number and times. */
export interface WeekLine {
  readonly head: string;
  readonly middle: string;
  readonly tail: string;
  /** Seconds since the epoch; start and end 0 for a job that never started. */
  readonly submitted: number;
  readonly started: number;
  readonly ended: number;
}

export interface Week {
  readonly runs: readonly WeekRun[];
  /** How many job numbers the week uses. */
  readonly jobs: number;
}

/** The line of a run in another week, under another number. With its newline. */
export function lineText(line: WeekLine, job: number, seconds: number): string {
  const at = (time: number): number => (time === 0 ? 0 : time + seconds);
  return `${line.head}${job}${line.middle}${at(line.submitted)}:${at(line.started)}:${at(line.ended)}${line.tail}`;
}

/** Positions 0, 1, 2 ... with weights 1, 1/2, 1/3 ... */
function zipf(count: number, random: () => number): () => number {
  const sums: number[] = [];
  let total = 0;
  for (let rank = 1; rank <= count; rank++) sums.push((total += 1 / rank));
  return () => {
    const wanted = random() * total;
    let low = 0;
    for (let high = count - 1; low < high;) {
      const middle = (low + high) >> 1;
      if ((sums[middle] ?? 0) < wanted) low = middle + 1;
      else high = middle;
    }
    return low;
  };
}

function scaled(bracket: Bracket | null, by: number): Bracket | null {
  if (bracket === null) return null;
  const pages = (bytes: number): number => Math.round((bytes * by) / 4096) * 4096;
  const { lower_bytes, upper_bytes } = bracket;
  // The width of the bracket does not grow with the job.
  const lower = pages(lower_bytes);
  return {
    ...bracket,
    lower_bytes: lower,
    upper_bytes: upper_bytes === null ? null : lower + upper_bytes - lower_bytes,
  };
}

/** Stands for the digest of a user's script, or of the directory of all of them. */
const digestOf = (rank: number, script = 0): string => (rank * 1000 + script).toString(16).padStart(8, '0');

/** Name of the owner with this rank by weight: the twentieth is bob. */
const ownerName = (rank: number): string => (rank === 19 ? 'bob' : `user${String(rank).padStart(3, '0')}`);

export function siteWeek(seed: number, runs: number, startMs: number): Week {
  const random = seededRandom(seed);
  const whole = (most: number): number => Math.floor(random() * most);
  /** Median and sigma of the logarithm. */
  const logNormal = (median: number, sigma: number): number =>
    median * Math.exp(sigma * Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random()));
  const ownerRank = zipf(OWNERS, random);
  const nameRank = zipf(60, random);
  const { next: realistic } = realisticRecords(seed + 1);
  const digest = (): string =>
    whole(2 ** 32)
      .toString(16)
      .padStart(8, '0');
  const boots = Array.from({ length: BOOTS }, digest);
  const made: WeekRun[] = [];
  let job = -1;
  let ahead = 0;
  let kind: ReturnType<typeof newKind> | undefined;

  /** What the tasks of an array have in common. */
  function newKind() {
    const rank = ownerRank();
    const script = nameRank();
    const parallel = random();
    const slots = parallel < 0.12 ? 2 ** (1 + whole(5)) : 1;
    const peak = Math.max(8 * 2 ** 20, Math.min(500 * GIB, logNormal(1.2 * GIB, 1.4)));
    // People request some three times what they use.
    const asked = (peak * Math.max(0.8, logNormal(3, 0.8))) / GIB / slots;
    return {
      rank,
      owner: ownerName(rank),
      name: `${['align', 'step', 'train', 'sim', 'merge', 'fit'][rank % 6] ?? ''}_${rank}_${script}.sh`,
      program: `${digestOf(rank, script)}.${digestOf(rank)}`,
      project: random() < 0.9 ? `group${rank % PROJECTS}` : null,
      queue: QUEUES[slots > 1 ? 1 + whole(4) : whole(5)] ?? null,
      pe: slots > 1 ? 'smp' : null,
      slots,
      peak,
      request: random() < 0.93 ? (REQUESTS_GIB.find((gib) => gib >= asked) ?? 256) : null,
      wall: Math.max(1, Math.min(6 * 86_400, logNormal(600, 1.9))),
      efficiency: Math.min(0.99, Math.max(0.02, 1 - logNormal(0.12, 1))),
      array: random() < 0.03,
      sampled: random() < 0.5,
    };
  }

  for (let index = 0; index < runs; index++) {
    let task = 0;
    if (ahead > 0 && kind !== undefined) {
      task = ahead;
      ahead--;
    } else {
      job++;
      kind = newKind();
      if (kind.array) {
        ahead = Math.max(1, Math.min(5000, Math.round(logNormal(30, 1.2))));
        task = ahead--;
      }
    }
    const { owner, name, program, project, queue, pe, slots, request } = kind;
    const endedMs = startMs + Math.floor(((index + random()) / runs) * WEEK_MS);
    const wallMs = Math.floor(kind.wall * logNormal(1, 0.3) * 1000) + 1;
    const startedMs = endedMs - wallMs;
    const submittedMs = Math.floor((startedMs - logNormal(120, 2) * 1000) / 1000) * 1000;
    const host = hostName(whole(HOSTS));
    const fate = random();
    const neverStarted = fate < 0.003;
    const killed = fate > 0.985;
    const limit = request === null ? null : request * GIB * slots;
    const peak = killed && limit !== null ? limit : Math.min(kind.peak * logNormal(1, 0.1), limit ?? Infinity);
    const exit = killed ? 137 : fate > 0.93 ? 1 + whole(3) : 0;
    const cpu = Math.round((wallMs / 1000) * slots * kind.efficiency * 1000) / 1000;
    const seconds = (ms: number): number => Math.floor(ms / 1000);
    const category = [
      `-U ${owner}_set`,
      ...(request === null ? [] : [`-l h_rt=86400,h_vmem=${request}G`]),
      ...(pe === null ? [] : [`-pe smp ${slots}`]),
      ...(project === null ? [] : [`-P ${project}`]),
    ].join(' ');
    const wallclock = neverStarted ? 0 : seconds(endedMs) - seconds(startedMs);
    const io = logNormal(0.2, 2).toFixed(6);
    const line: WeekLine = {
      head: `${neverStarted ? 'UNKNOWN:UNKNOWN' : `${queue ?? ''}:${host}`}:users:${owner}:${name}:`,
      middle: ':sge:0:',
      submitted: seconds(submittedMs),
      started: neverStarted ? 0 : seconds(startedMs),
      ended: neverStarted ? 0 : seconds(endedMs),
      tail:
        `:${neverStarted ? 26 : killed ? 100 : 0}:${neverStarted ? 0 : exit}:${wallclock}:` +
        `${(cpu * 0.95).toFixed(6)}:${(cpu * 0.05).toFixed(6)}:${(peak / 1024 / 1.4).toFixed(6)}:0:0:0:0:` +
        `${whole(1e6)}:${whole(100)}:0:${(whole(1e7) / 1).toFixed(6)}:${whole(1e6)}:0:0:0:${whole(1e5)}:${whole(1e5)}:` +
        `${project ?? 'NONE'}:defaultdepartment:${pe ?? 'NONE'}:${neverStarted ? 0 : slots}:${task}:` +
        `${cpu.toFixed(6)}:${((cpu * peak * 0.6) / GIB).toFixed(6)}:${io}:${category}:0.000000:NONE:` +
        `${(peak * 1.3).toFixed(6)}:0:0\n`,
    };
    made.push({
      job,
      line,
      record: kind.sampled && !neverStarted ? sampled() : null,
    });

    function sampled(): JobRecord {
      const like = realistic();
      const by = peak / Math.max(4096, like.peak_rss?.lower_bytes ?? peak);
      const perSlot = request === null ? null : request * GIB;
      const key: RecordKey = {
        cluster: 'hpc',
        job_id: job,
        task_id: task === 0 ? null : task,
        pe_task_id: null,
        host,
        run_id: `${boots[whole(BOOTS)] ?? ''}.${1000 + whole(4_000_000)}.${whole(400_000_000)}`,
      };
      const at = new Date(startedMs + whole(wallMs)).toISOString();
      const seen = (bracket: Bracket | null): Bracket | null => {
        const moved = scaled(bracket, by);
        return moved === null ? null : { ...moved, at };
      };
      const rss = seen(like.peak_rss);
      return {
        ...like,
        ...key,
        revision: endedMs + 20,
        owner,
        job_name: name,
        program,
        queue,
        project,
        pe,
        slots,
        host_slots: slots,
        submitted_at: new Date(submittedMs).toISOString(),
        started_at: new Date(startedMs).toISOString(),
        ended_at: new Date(endedMs).toISOString(),
        exit_status: exit,
        signal: killed ? 9 : 0,
        h_vmem: perSlot === null ? null : { request_bytes: perSlot, limit_bytes: perSlot * slots, per: 'slot' },
        requests: {},
        peak_rss: rss,
        peak_rss_swap: rss,
        peak_vmem: seen(like.peak_vmem),
        peak_process_vmem: seen(like.peak_process_vmem),
        peak_footprint: seen(like.peak_footprint),
        wallclock_seconds: wallMs / 1000,
        cpu_seconds: cpu,
        samples: Math.ceil(wallMs / 1000) + 5,
        rss_byte_seconds: Math.round((peak * wallMs * 0.7) / 1000),
      };
    }
  }
  return { runs: submittedTogether(made), jobs: job + 1 };
}

/** The tasks of an array are submitted with its first one. */
function submittedTogether(runs: readonly WeekRun[]): readonly WeekRun[] {
  const first = new Map<number, number>();
  for (const { job, line } of runs) first.set(job, Math.min(first.get(job) ?? Infinity, line.submitted));
  return runs.map(({ job, line, record }) => {
    const submitted = first.get(job) ?? line.submitted;
    const submitted_at = new Date(submitted * 1000).toISOString();
    return { job, line: { ...line, submitted }, record: record && { ...record, submitted_at } };
  });
}
