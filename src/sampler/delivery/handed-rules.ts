import { hostLabel } from '../../gridengine/host-names';
import { ownHost } from './node-status';
import { DAY_MS } from '../../base/units';
import { bootId, uptimeSeconds } from '../../sources/proc/clock';
import { ALL_FACTS } from '../figures/job-facts';
import type { NodeStore } from '../node-store/node-store';
import { parseRecord, recordOfJson } from '../../record/record';
import type { JobRecord } from '../../record/record';
import { unsampledRecord } from './recover';
import { parseRunDescription } from '../job/run-description';
import { clusterName, type Settings } from '../../record/settings';

/** Which records of a user are accepted: those about the user's own jobs on this host that root's hooks don't know. */

/** What a user's record is checked against. */
export interface Here {
  readonly nowMs: number;
  /** First 8 hex digits of the boot id. */
  readonly boot: string;
  readonly bootMs: number;
  readonly cluster: string;
  /** This host, by Grid Engine's name. */
  readonly host: string;
  readonly store: Pick<NodeStore, 'job'>;
}

interface HandedBy {
  readonly owner: string;
  /** When the file was last changed, ms since the epoch. */
  readonly changedMs: number;
}

/** Most that clocks of one host differ: of a file system, of a sampler, before and after they were set. */
const SLACK_MS = 60_000;
/** Hooks hand a record in at the job's end. */
const HANDED_WITHIN_MS = DAY_MS;
const LONGEST_MS = 400 * DAY_MS;
const RUN_ID = /^[0-9a-f]{8}\.[1-9]\d{0,9}\.\d{1,19}$/;

const METRICS: ReadonlySet<string> = new Set(ALL_FACTS.flatMap(({ metrics }) => metrics.map(({ name }) => name)));

export function hereAndNow(settings: Settings, store: NodeStore, nowMs: number): Here {
  const cluster = clusterName(settings);
  return {
    nowMs,
    boot: bootId().slice(0, 8),
    bootMs: nowMs - uptimeSeconds() * 1000,
    cluster,
    host: ownHost(settings),
    store,
  };
}

/** The record in a user's file: JSON of a sampler, or an epilog's copies of spool files. A string: what is wrong. */
export function parseHanded(text: string, settings: Settings, nowMs: number): JobRecord | string {
  if (text.startsWith('version=')) return recordOfCopies(text, settings, nowMs);
  const record = recordOfJson(text);
  return record.ok ? { ...record.value, trust: 'self-reported' } : record.error;
}

/** What an unprivileged epilog left when no sampler had run: the `job` lines, then copies of `config` and `usage`. */
function recordOfCopies(text: string, settings: Settings, nowMs: number): JobRecord | string {
  const config = text.indexOf('\n==config==\n');
  const usage = text.indexOf('\n==usage==\n');
  if (config < 0 || usage < config) return 'neither a record nor copies of spool files';
  const run = parseRunDescription(`${text.slice(0, config)}\nend=1\n`);
  if (run === null) return 'unusable job description';
  const copies = { config: text.slice(config + 12, usage), usage: text.slice(usage + 11) };
  // The accounting DB would refuse it for good, and node.db keep it.
  const record = parseRecord(unsampledRecord(run, copies, settings, nowMs));
  return record.ok ? record.value : record.error;
}

/** Why a user's record is not taken; null: it is. */
export function whyRefused(record: JobRecord, by: HandedBy, here: Here): string | null {
  if (record.owner !== null && record.owner !== by.owner)
    return `names the owner "${record.owner}", and is a file of ${by.owner}`;
  if (record.cluster !== here.cluster) return `is of cluster "${record.cluster}", not "${here.cluster}"`;
  if (!RUN_ID.test(record.run_id)) return 'has a run_id that no hook makes';
  if (here.store.job(`${record.job_id}.${record.task_id ?? 0}.${record.run_id}`) !== null)
    return `is about job ${record.job_id}, which root's hooks account`;
  if (record.status === 'running') return 'says that the job still runs';
  if (record.failed !== null || record.grid_engine !== null)
    return "has fields that only Grid Engine's accounting fills (failed, grid_engine)";
  const unknown = Object.keys(record.metrics).find((name) => !METRICS.has(name));
  if (unknown !== undefined) return `has an unknown metric ("${unknown}")`;
  return whyNotThen(record, by.changedMs, here);
}

/** What is wrong with the record's times. */
function whyNotThen(record: JobRecord, changedMs: number, { nowMs, boot, bootMs }: Here): string | null {
  const [submitted, started, ended] = [record.submitted_at, record.started_at, record.ended_at].map((time) =>
    time === null ? null : Date.parse(time),
  );
  const seen = [record.series?.start, record.peak_rss?.at, record.peak_rss_swap?.at, record.peak_vmem?.at]
    .concat(record.peak_process_vmem?.at, record.peak_footprint?.at)
    .flatMap((time) => (time ? [Date.parse(time)] : []));
  const times = [submitted, started, ended, ...seen].filter((time) => typeof time === 'number');
  if (Math.max(record.revision, ...times) > nowMs + SLACK_MS) return 'has a time in the future';
  if ((ended ?? record.revision) < changedMs - HANDED_WITHIN_MS)
    return 'is about a job that ended more than a day before it was handed in';
  const thisBoot = record.run_id.startsWith(`${boot}.`);
  if (!thisBoot && changedMs > bootMs + SLACK_MS)
    return 'is about a job of an earlier boot of this host, and was handed in after that';
  const earliest = thisBoot ? bootMs : changedMs - LONGEST_MS;
  const isTooEarly = Math.min(started ?? earliest, ...seen) < earliest - SLACK_MS;
  if (isTooEarly || (submitted ?? changedMs) < changedMs - LONGEST_MS)
    return 'has a time before the job can have existed';
  if ((submitted ?? 0) > (started ?? Infinity) + SLACK_MS || (started ?? 0) > (ended ?? Infinity) + SLACK_MS)
    return 'began before it was submitted, or ended before it began';
  return null;
}

/** The record as its owner's own report, about this host, under a key that no other user's record can have. */
export function asHanded(
  record: JobRecord,
  { owner, uid, here }: { readonly owner: string; readonly uid: number; readonly here: string },
): JobRecord {
  const host = hostLabel(record.host) === hostLabel(here) ? record.host : here;
  return { ...record, run_id: `${record.run_id}.u${uid}`, owner, host, trust: 'self-reported' };
}
