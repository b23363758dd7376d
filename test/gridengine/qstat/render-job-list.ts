import type { ListedJob, RequestText } from '../../../src/gridengine/qstat/job-list';
import { escapeOldXml, escapeXml } from '../escape-xml';

type RenderedDialect = 'sge' | 'full' | 'ocs';

/**
 * Prints jobs as 8.1.9 does with `-r -ext -urg -g t` (`full`: with `-f`, too), or OCS 9.1. Times have whole
 * seconds; running jobs come first, as in qstat.
 */
export function renderJobList(jobs: readonly ListedJob[], dialect: RenderedDialect): string {
  const running = jobs.filter(({ list }) => list === 'running');
  const waiting = jobs.filter(({ list }) => list !== 'running');
  const row = (job: ListedJob) => renderRow(job, dialect);
  const queue = (job: ListedJob) =>
    `    <Queue-List>\n      <name>${escapeOldXml(job.queueInstance ?? '')}</name>\n      <state>au</state>\n${row(job)}    </Queue-List>\n`;
  return (
    `<?xml version='1.0'?>\n<job_info  xmlns:xsd="http://x/">\n  <queue_info>\n` +
    running.map(dialect === 'full' ? queue : row).join('') +
    `  </queue_info>\n  <job_info>\n${waiting.map(row).join('')}  </job_info>\n</job_info>\n`
  );
}

function renderRow(job: ListedJob, dialect: RenderedDialect): string {
  const escape = dialect === 'ocs' ? escapeXml : escapeOldXml;
  const child = (tag: string, text: string | number | null, attributes = '') =>
    text === null ? '' : `      <${tag}${attributes}>${escape(String(text))}</${tag}>\n`;
  const name = job.name.slice(0, 10);
  const request = ({ complex, value, kind, scope }: RequestText) => {
    const prefix = scope === undefined ? '' : `${scope}_`;
    const tag = kind === 'default' ? 'def_hard_request' : `${prefix}${kind}_request`;
    return child(tag, value, ` name="${escape(complex)}" resource_contribution="0.000000"`);
  };
  return (
    `    <job_list state="${job.list}">\n` +
    child('JB_job_number', job.job) +
    child('JAT_prio', job.priority?.toFixed(5) ?? null) +
    child('JB_name', name) +
    child('JB_owner', job.owner) +
    child('JB_project', job.project) +
    child('JB_department', job.department) +
    child('state', job.state) +
    child('JAT_start_time', localIso(job.startedAt, dialect)) +
    child(dialect === 'ocs' ? 'JAT_submission_time' : 'JB_submission_time', localIso(job.submittedAt, dialect)) +
    child('cpu_usage', job.cpuSeconds) +
    child('mem_usage', job.memoryGbSeconds) +
    child('io_usage', job.ioGb) +
    (dialect === 'full' ? '' : child('queue_name', job.queueInstance ?? '')) +
    child('master', job.role) +
    child('slots', job.slots) +
    child('tasks', job.tasks) +
    child('full_job_name', job.name) +
    (job.requestedPe === null ? '' : child('requested_pe', job.requestedSlots, ` name="${escape(job.requestedPe)}"`)) +
    (job.grantedPe === null ? '' : child('granted_pe', 4, ` name="${escape(job.grantedPe)}"`)) +
    job.requests.map(request).join('') +
    child('hard_req_queue', 'all.q') +
    `    </job_list>\n`
  );
}

function localIso(time: number | null, dialect: RenderedDialect): string | null {
  if (time === null) return null;
  const moment = new Date(time);
  const two = (value: number) => String(value).padStart(2, '0');
  const day = `${moment.getFullYear()}-${two(moment.getMonth() + 1)}-${two(moment.getDate())}`;
  const clock = `${two(moment.getHours())}:${two(moment.getMinutes())}:${two(moment.getSeconds())}`;
  return `${day}T${clock}${dialect === 'ocs' ? '.000001' : ''}`;
}
