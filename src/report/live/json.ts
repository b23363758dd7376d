import { escapeJson } from '../format/escape';
import { totalHosts } from './host-totals';
import type { HostsReport } from './hosts';
import type { JobsReport } from './jobs';
import { hostFields, totalsFields } from './machine-hosts';
import { jobFields, pendingFields, viewFields } from './machine-jobs';

type Fields = Readonly<Record<string, unknown>>;

const line = (fields: Fields): string => escapeJson(JSON.stringify(fields));

const list = (name: string, rows: readonly Fields[]): string =>
  `"${name}":[${rows.length === 0 ? '' : `\n${rows.map(line).join(',\n')}\n`}]`;

/** `{"schema":1,"cluster":...,"jobs":[...],"pending":[...]}`, a job a line; `pending` null: not asked for. */
export function renderJobsJson({ view, jobs, pending }: JobsReport): string {
  const waiting = pending === null ? '"pending":null' : list('pending', pending.map(pendingFields));
  return `${line(viewFields(view)).slice(0, -1)},${list('jobs', jobs.map(jobFields))},${waiting}}\n`;
}

/** `{"schema":1,"cluster":...,"hosts":[...],"totals":{...}}`, a host a line, with its jobs. */
export function renderHostsJson({ view, hosts }: HostsReport): string {
  const totals = line(totalsFields(totalHosts(hosts)));
  return `${line(viewFields(view)).slice(0, -1)},${list('hosts', hosts.map(hostFields))},"totals":${totals}}\n`;
}
