import { readFileSync } from 'node:fs';
import { codeOf } from '../../base/error-code';
import { DAY_MS } from '../../base/units';
import { groupBy } from '../../base/group-by';
import { logChanges } from '../../base/log';
import { reasonOf } from '../../base/user-error';
import { replaceFile } from '../../base/replace-file';
import { checkJson, list, number, object, string, type ValueOf } from '../../base/shape';
import type { ClusterFacts } from './cluster-facts';

const askedJob = object({ cluster: string, job: number(1), owner: string, since: number() });
/** A job submitted with a request for a mail at its end (`-ac qmemacct=mail`); `since`: when it was first seen (ms). */
type AskedJob = ValueOf<typeof askedJob>;

/** More jobs than these, in all and per owner, are not remembered; an owner gets fewer mails than that in a day. */
const MOST_JOBS = 100_000;
const MOST_OF_OWNER = 2000;
const asked = list(askedJob, MOST_JOBS);
const FORGOTTEN_AFTER_MS = DAY_MS;

export const askedKey = (cluster: string, job: number): string => `${cluster} ${job}`;

/** The jobs that asked for a mail, kept in a file that outlives the server, as qmaster forgets ended jobs. */
export class AskedJobs {
  private readonly jobs = new Map<string, AskedJob>();
  private readonly lastSeen = new Map<string, number>();
  /** When this process first looked (ms): jobs read from the file may have run until then. */
  private begin: number | null = null;
  /** Whether the file is out of date. */
  private isChanged = false;
  private readonly problem: (problem: string | null) => void;

  /** `warn` is called if the file can't be read or written, and when writing works again. */
  constructor(
    private readonly path: string,
    private readonly warn: (line: string) => void,
  ) {
    this.problem = logChanges(warn, `${path} is written again`);
    for (const jobs of groupBy(this.read(), ({ owner }) => owner).values())
      for (const job of jobs.slice(0, MOST_OF_OWNER)) this.jobs.set(askedKey(job.cluster, job.job), job);
  }

  /** Adds the running jobs that ask for a mail, and forgets jobs gone for a day; `now` in ms. */
  look({ cluster, asked: running }: ClusterFacts, now: number): void {
    const begin = (this.begin ??= now);
    const ofOwner = new Map<string, number>();
    for (const { owner } of this.jobs.values()) ofOwner.set(owner, (ofOwner.get(owner) ?? 0) + 1);
    for (const { job, owner } of running) {
      const name = askedKey(cluster, job);
      if (this.jobs.get(name)?.owner !== owner) {
        const count = ofOwner.get(owner) ?? 0;
        if (count >= MOST_OF_OWNER || this.jobs.size >= MOST_JOBS) continue;
        this.jobs.set(name, { cluster, job, owner, since: now });
        ofOwner.set(owner, count + 1);
        this.isChanged = true;
      }
      this.lastSeen.set(name, now);
    }
    for (const name of this.jobs.keys())
      if (now - (this.lastSeen.get(name) ?? begin) > FORGOTTEN_AFTER_MS) this.remove(name);
    if (this.isChanged) this.write();
  }

  all(): readonly AskedJob[] {
    return [...this.jobs.values()];
  }

  /** For a job whose mail was sent. The file is written at the next `look` only: until then the ledger knows. */
  forget(cluster: string, job: number): void {
    this.remove(askedKey(cluster, job));
  }

  private remove(name: string): void {
    this.lastSeen.delete(name);
    if (this.jobs.delete(name)) this.isChanged = true;
  }

  private read(): readonly AskedJob[] {
    try {
      const found = checkJson(asked, readFileSync(this.path, 'utf8'), this.path);
      if (found.ok) return found.value;
      this.lost(found.error);
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') this.lost(`${this.path}: ${reasonOf(error)}`);
    }
    return [];
  }

  private lost(problem: string): void {
    this.isChanged = true;
    this.warn(`${problem}: jobs that asked for a mail and have ended meanwhile are forgotten`);
  }

  /** If this fails, the next `look` tries again. */
  private write(): void {
    try {
      replaceFile(this.path, JSON.stringify(this.all()), 0o600);
      this.isChanged = false;
      this.problem(null);
    } catch (error) {
      this.problem(`${this.path}: ${reasonOf(error)}: jobs that asked for a mail are forgotten when the server ends`);
    }
  }
}
