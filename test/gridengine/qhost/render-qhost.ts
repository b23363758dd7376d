import type { QhostHost, QhostJob, QhostQueue } from '../../../src/gridengine/qhost/qhost-report';
import { escapeOldXml, escapeXml } from '../escape-xml';

/** Prints hosts as `qhost -F -q -j` of Grid Engine 8.1.9 or OCS 9.2 does; all jobs after all queues. */
export function renderQhost(hosts: readonly QhostHost[], dialect: 'sge' | 'ocs'): string {
  const ocs = dialect === 'ocs';
  const escape = ocs ? escapeXml : escapeOldXml;
  const value = (tag: string, attributes: string, name: string, text: string) =>
    `   <${tag}${attributes} name='${escape(name)}'>${escape(text)}</${tag}>\n`;
  const queue = (one: QhostQueue) =>
    ` <queue name='${escape(one.name)}'>\n` +
    queueValues(one)
      .map(([name, text]) => value('queuevalue', ` qname='${escape(one.name)}'`, name, text))
      .join('') +
    ` </queue>\n`;
  const job = (one: QhostJob) =>
    ` <job name='${one.job}'>\n` +
    jobValues(one, ocs)
      .map(([name, text]) => value('jobvalue', ` jobid='${one.job}'`, name, text))
      .join('') +
    ` </job>\n`;
  const host = (one: QhostHost) =>
    ` <host name='${escape(one.name)}'>\n` +
    hostValues(one)
      .map(([name, text]) => value('hostvalue', '', name, text))
      .join('') +
    one.resources
      .map(
        ({ name, dominance, value: text }) =>
          `   <resourcevalue name='${escape(name)}' dominance='${dominance}'>${escape(text)}</resourcevalue>\n`,
      )
      .join('') +
    one.queues.map(queue).join('') +
    one.jobs.map(job).join('') +
    ` </host>\n`;
  return `<?xml version='1.0'?>\n<qhost xmlns:xsd="http://x/">\n <host name='global'>\n </host>\n${hosts.map(host).join('')}</qhost>\n`;
}

type Value = readonly [name: string, text: string];

function hostValues(host: QhostHost): readonly Value[] {
  return [
    ['arch_string', host.architecture ?? '-'],
    ['num_proc', host.processorsText],
    ['m_socket', numberText(host.sockets)],
    ['m_core', numberText(host.cores)],
    ['m_thread', numberText(host.threads)],
    ['load_avg', host.load?.toFixed(2) ?? '-'],
    ['mem_total', host.memoryTotalText],
    ['mem_used', host.memoryUsed === null ? '-' : `${(host.memoryUsed / 2 ** 20).toFixed(1)}M`],
    ['swap_total', host.swapTotal?.toFixed(1) ?? '-'],
    ['swap_used', host.swapUsed?.toFixed(1) ?? '-'],
  ];
}

function queueValues(queue: QhostQueue): readonly Value[] {
  return [
    ['qtype_string', queue.type],
    ['slots_used', numberText(queue.slotsUsed)],
    ['slots', numberText(queue.slots)],
    ['slots_resv', numberText(queue.slotsReserved)],
    ['state_string', queue.state],
  ];
}

function jobValues(job: QhostJob, ocs: boolean): readonly Value[] {
  const priority = (job.priority ?? 0).toFixed(6);
  const start = job.startedAt ?? 0;
  return [
    ['priority', ocs ? priority : `'${priority}'`],
    ['qinstance_name', job.queueInstance],
    ['job_name', job.name],
    ['job_owner', job.owner],
    ['job_state', job.state],
    ...(job.startedAt === null ? [] : [['start_time', String(ocs ? start * 1000 : start / 1000)] as const]),
    ['pe_master', job.role],
    ...(job.task === null ? [] : [['taskid', String(job.task)] as const]),
  ];
}

function numberText(value: number | null): string {
  return value === null ? '-' : String(value);
}
