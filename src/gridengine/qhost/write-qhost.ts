import type { XmlElement } from '../xml/write-xml';
import type { QhostHost, QhostJob, QhostQueue } from './qhost-report';

/** The schema of 8.1.9, which this output follows. */
const SCHEMA = 'http://arc.liv.ac.uk/repos/darcs/sge/source/dist/util/resources/schemas/qhost/qhost.xsd';

const UNITS = ['', 'K', 'M', 'G', 'T', 'P', 'E'] as const;

/** As qhost prints a size: `93.1G`, `984.1M`, `0.0`; `-`: unknown. */
function printSize(bytes: number | null): string {
  if (bytes === null) return '-';
  const power = bytes < 1024 ? 0 : Math.min(Math.floor(Math.log2(bytes) / 10), UNITS.length - 1);
  return `${(bytes / 1024 ** power).toFixed(1)}${UNITS[power] ?? ''}`;
}

const count = (value: number | null): string => (value === null ? '-' : String(value));

type Value = readonly [name: string, text: string | null];

/** An element for each value; none where it is unknown. */
function values(tag: string, attributes: Readonly<Record<string, string>>, given: readonly Value[]): XmlElement[] {
  return given.flatMap(([name, text]) =>
    text === null ? [] : [{ tag, attributes: { ...attributes, name }, content: text }],
  );
}

const NOTHING = ['arch_string', 'num_proc', 'm_socket', 'm_core', 'm_thread', 'load_avg'].concat([
  'mem_total',
  'mem_used',
  'swap_total',
  'swap_used',
]);

/** The pseudo host that qhost lists first, without any values. */
const GLOBAL: XmlElement = {
  tag: 'host',
  attributes: { name: 'global' },
  content: values(
    'hostvalue',
    {},
    NOTHING.map((name) => [name, '-']),
  ),
};

function queueElement({ name, type, slotsUsed, slots, slotsReserved, state }: QhostQueue): XmlElement {
  const some = (value: number | null): string | null => (value === null ? null : String(value));
  return {
    tag: 'queue',
    attributes: { name },
    content: values('queuevalue', { qname: name }, [
      ['qtype_string', type],
      ['slots_used', some(slotsUsed)],
      ['slots', some(slots)],
      ['slots_resv', some(slotsReserved)],
      ['state_string', state],
    ]),
  };
}

/** The priority without the quotes that 8.1.9 has in it. */
function jobElement(job: QhostJob): XmlElement {
  const id = String(job.job);
  return {
    tag: 'job',
    attributes: { name: id },
    content: values('jobvalue', { jobid: id }, [
      ['priority', job.priority?.toFixed(6) ?? null],
      ['qinstance_name', job.queueInstance === '' ? null : job.queueInstance],
      ['job_name', job.name],
      ['job_owner', job.owner],
      ['job_state', job.state],
      ['start_time', job.startedAt === null ? null : String(Math.floor(job.startedAt / 1000))],
      ['queue_name', job.queueInstance === '' ? job.queue : job.queueInstance],
      ['pe_master', job.role === '' ? null : job.role],
      ['taskid', job.task === null ? null : String(job.task)],
    ]),
  };
}

function hostElement(host: QhostHost): XmlElement {
  const queues = new Set(host.queues.map(({ name }) => name));
  return {
    tag: 'host',
    attributes: { name: host.name },
    content: [
      ...values('hostvalue', {}, [
        ['arch_string', host.architecture ?? '-'],
        ['num_proc', host.processorsText],
        ['m_socket', count(host.sockets)],
        ['m_core', count(host.cores)],
        ['m_thread', count(host.threads)],
        ['load_avg', host.load?.toFixed(2) ?? '-'],
        ['mem_total', host.memoryTotalText],
        ['mem_used', printSize(host.memoryUsed)],
        ['swap_total', printSize(host.swapTotal)],
        ['swap_used', printSize(host.swapUsed)],
      ]),
      ...host.resources.map(({ name, dominance, value }) => ({
        tag: 'resourcevalue',
        attributes: { name, dominance },
        content: value,
      })),
      ...host.queues.flatMap((queue) => [
        queueElement(queue),
        ...host.jobs.filter((job) => job.queue === queue.name).map(jobElement),
      ]),
      ...host.jobs.filter((job) => !queues.has(job.queue)).map(jobElement),
    ],
  };
}

/** `qhost -F -q -j -xml`: what `readQhost` reads. */
export function qhostElement(hosts: readonly QhostHost[]): XmlElement {
  return { tag: 'qhost', attributes: { 'xmlns:xsd': SCHEMA }, content: [GLOBAL, ...hosts.map(hostElement)] };
}
