import { readFileSync } from 'node:fs';
import { reasonOf } from '../../base/log';
import { replaceFile } from '../../base/replace-file';
import { check, list, number, object, string, type ValueOf } from '../../base/shape';
import type { ClusterFacts } from './cluster-facts';

const askedJob = object({ cluster: string, job: number(1), owner: string, since: number() });
/** A job whose submission asks for a mail at its end (`-ac qmemacct=mail`); `since`: when it was first seen (ms). */
type AskedJob = ValueOf<typeof askedJob>;

/** More at one time are not remembered. */
const MOST_JOBS = 100_000;
const asked = list(askedJob, MOST_JOBS);
const FORGOTTEN_AFTER_MS = 24 * 3_600_000;

export const askedName = (cluster: string, job: number): string => `${cluster} ${job}`;

/** The jobs that have asked for a mail, in a file that outlives the server: qmaster forgets them when they end. */
export class AskedJobs {
  private readonly jobs = new Map<string, AskedJob>();
  private readonly lastSeen = new Map<string, number>();

  /** `warn` is called where the file can't be written. */
  constructor(
    private readonly path: string,
    private readonly warn: (line: string) => void,
  ) {
    for (const job of this.read()) this.jobs.set(askedName(job.cluster, job.job), job);
  }

  /** Takes in what runs now (ms), and forgets what has been gone for a day. */
  look({ cluster, asked: running }: ClusterFacts, now: number): void {
    const before = this.jobs.size;
    let added = 0;
    for (const { job, owner } of running) {
      const name = askedName(cluster, job);
      this.lastSeen.set(name, now);
      if (this.jobs.get(name)?.owner === owner || this.jobs.size >= MOST_JOBS) continue;
      this.jobs.set(name, { cluster, job, owner, since: now });
      added++;
    }
    for (const [name, { since }] of this.jobs)
      if (now - (this.lastSeen.get(name) ?? since) > FORGOTTEN_AFTER_MS) this.remove(name);
    if (added > 0 || this.jobs.size !== before) this.write();
  }

  all(): readonly AskedJob[] {
    return [...this.jobs.values()];
  }

  /** Its mail has gone. */
  forget(cluster: string, job: number): void {
    if (this.remove(askedName(cluster, job))) this.write();
  }

  private remove(name: string): boolean {
    this.lastSeen.delete(name);
    return this.jobs.delete(name);
  }

  private read(): readonly AskedJob[] {
    try {
      const found = check(asked, JSON.parse(readFileSync(this.path, 'utf8')), this.path);
      return found.ok ? found.value : [];
    } catch {
      return [];
    }
  }

  private write(): void {
    try {
      replaceFile(this.path, JSON.stringify(this.all()), 0o600);
    } catch (error) {
      this.warn(`${this.path}: ${reasonOf(error)}: jobs that asked for a mail are forgotten when the server ends`);
    }
  }
}
