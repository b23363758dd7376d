import { readFileSync, statSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { replaceFile } from '../../base/replace-file';
import type { JobDescription } from '../job/job-description';
import type { JobRecord, RecordKey } from '../../record/record';
import { runId, type RunDescription } from '../job/run-description';
import { clusterName, type Settings } from '../../record/settings';

/** Key of the record of one run on this host. */
export function keyOfRun(run: RunDescription, description: JobDescription, settings: Settings): RecordKey {
  return {
    cluster: clusterName(settings),
    job_id: run.job,
    task_id: description.array ? run.task : null,
    pe_task_id: run.peTask ?? description.fields.pe_task_id,
    host: description.host ?? hostname(),
    run_id: runId(run),
  };
}

const PRIVATE_RECORD = 'record.json';

/** The record as JSON; if that is longer than `mostBytes`, its series is left out, and then its hosts. */
export function textOfRecord(record: JobRecord, mostBytes: number): string {
  const shorter = [record, { ...record, series: null }, { ...record, series: null, granted_hosts: null }];
  const texts = shorter.map((one) => JSON.stringify(one));
  return texts.find((text) => Buffer.byteLength(text) <= mostBytes) ?? texts.at(-1) ?? '';
}

/** Writes the summary to a file in the run directory, where node.db can't be used; `mostBytes`: as for textOfRecord. */
export function writePrivateRecord(directory: string, record: JobRecord, mostBytes: number): void {
  replaceFile(join(directory, PRIVATE_RECORD), textOfRecord(record, mostBytes), 0o600);
}

/** Text of the private record in a run directory; null when there is none. */
export function readPrivateRecord(directory: string): string | null {
  const path = join(directory, PRIVATE_RECORD);
  try {
    return statSync(path).isFile() ? readFileSync(path, 'utf8') : null;
  } catch {
    return null;
  }
}
