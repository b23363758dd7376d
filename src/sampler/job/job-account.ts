import type { JobRecord, RecordStatus } from '../../record/record';
import { ownerOfSpool } from '../../gridengine/spool-owner';
import { readText } from '../../sources/files';
import { namesSwapArea } from '../../sources/proc/swap';
import { keyOfRun } from '../delivery/finish';
import type { JobFigures } from '../figures/job-figures';
import { thisMachine } from '../peaks/slack';
import type { EndOfJob } from './end-of-job';
import type { FirstProcess } from './first-process';
import type { JobClock } from './job-clock';
import type { JobDescription } from './job-description';
import { buildRecord } from './job-record';
import type { JobSampler } from './job-sampler';
import type { Pace } from './pace';
import type { RunDescription } from './run-description';
import type { Predecessor, Surroundings } from './surroundings';
import type * as TwoAccounts from './two-accounts';

/** What is known of a job, by what follows it. */
interface Known {
  readonly run: RunDescription;
  readonly surroundings: Surroundings;
  readonly predecessor: Predecessor;
  readonly description: JobDescription;
  /** Why the prolog made no control group; null: it made one, or was not to. */
  readonly cgroupProblem: string | null;
  readonly sampler: JobSampler;
  readonly figures: JobFigures;
  readonly pace: Pace;
  readonly clock: JobClock;
  readonly first: FirstProcess;
  readonly ending: EndOfJob;
}

const swapPossible = (): boolean => namesSwapArea(readText('/proc/swaps') ?? '');

/** Makes the records of a job that is followed. */
export class JobAccount {
  /** What the record's reader is to know. */
  readonly notes: Set<string>;
  /** Of the last record of the running job. */
  private revision = 0;
  private noSwap = !swapPossible();
  private ownerBySpool: string | null = null;

  constructor(private readonly known: Known) {
    const { predecessor, surroundings, cgroupProblem, description } = known;
    const { resumed, missed } = predecessor;
    const first = [
      missed,
      surroundings.settingsProblem,
      cgroupProblem === null ? null : `No cgroup of the job's own: ${cgroupProblem}.`,
    ].filter((note) => note !== null);
    this.notes = new Set([...(resumed?.notes ?? []), ...first]);
    if (description.fields.owner === null) this.spoolOwner();
  }

  /** Spent on this job, by all samplers that have followed it. */
  cpuSeconds(): number {
    const { predecessor, surroundings } = this.known;
    return (predecessor.resumed?.cpuSeconds ?? 0) + surroundings.meter.seconds();
  }

  /** The record so far, or at the end. `endedMs`: by the job's clock; null: not known, or it runs. */
  record(status: RecordStatus, endedMs: number | null): JobRecord {
    const { run, surroundings, description, sampler, figures, clock } = this.known;
    this.noSwap &&= !swapPossible();
    const observation = sampler.settled();
    const footprint = figures.footprint(!sampler.alive());
    const seen = observation.samples > 0 || (observation.lineage?.totals.processes ?? 0) > 0 || footprint !== null;
    // What the prolog found holds only for a sampler that serves this job alone.
    const small = run.memory === 'small' && surroundings.scope === 'job';
    const record = buildRecord({
      key: keyOfRun(run, description, surroundings.settings),
      description,
      observation,
      usage: status === 'running' ? null : this.known.ending.usage(),
      status,
      trust: run.hooks !== 'root' ? 'self-reported' : seen ? 'root' : 'usage',
      cost: {
        cpu_seconds: Math.round(this.cpuSeconds() * 1000) / 1000,
        max_rss_bytes: Math.round((process.resourceUsage().maxRSS * 1024) / surroundings.jobs()),
        mode: small ? 'small' : 'full',
      },
      intervalSeconds: this.known.pace.intervalMs / 1000,
      notes: this.notesNow(small),
      nowMs: Date.now(),
      setByMs: clock.setByMs(),
      endedMs,
      precision: thisMachine(),
      addressSpaceLimit: this.known.first.addressSpaceLimit(),
      noSwap: this.noSwap,
      footprint,
      metrics: figures.metrics(),
    });
    // Of two accounts of a running job the later one counts, also where the clock was set back in between.
    const revision = status === 'running' ? Math.max(record.revision, this.revision + 1) : record.revision;
    this.revision = revision;
    const owned = { ...record, revision, owner: record.owner ?? this.spoolOwner() };
    const { earlier } = this.known.predecessor;
    if (earlier === null) return owned;
    // Loaded here, since few jobs need it.
    return (require('./two-accounts') as typeof TwoAccounts).afterRestart(owned, earlier);
  }

  /** Kept once it is known: the spool directory goes with its job. */
  private spoolOwner(): string | null {
    return (this.ownerBySpool ??= ownerOfSpool(this.known.run.spool));
  }

  private notesNow(small: boolean): readonly string[] {
    const notes = [...this.notes];
    if (this.known.run.hooks === 'plain')
      notes.push(
        "The hooks ran as the job's owner: these figures are self-reported, and other users' processes were not seen.",
      );
    if (small) notes.push('The address space limit could not be lifted for the sampler: it ran in its small mode.');
    // A job's environment can cause any number of these notes: they come last.
    return [...notes, ...this.known.figures.notes()];
  }
}
