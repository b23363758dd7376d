import type { Cell } from './cell';
import { client } from './kind';

/**
 * What Grid Engine's own clients say of the running jobs, read by the regular expressions below and not by the product's
 * readers, which are compared with it.
 */
export interface ClientAnswers {
  readonly hosts: ReadonlyMap<string, ClientHost>;
  readonly jobs: ReadonlyMap<number, ClientJob>;
}

export interface ClientHost {
  readonly processors: string;
  readonly memoryTotal: string;
  /** Free h_vmem in bytes; qhost prints three decimals of a GiB. */
  readonly free: number;
  /** One for each array task. */
  readonly jobs: readonly ClientPart[];
}

export interface ClientPart {
  readonly job: number;
  readonly task: number | null;
  readonly owner: string;
  readonly state: string;
  readonly master: boolean;
  readonly slots: number;
}

export interface ClientJob {
  readonly owner: string;
  readonly uid: string;
  /** h_vmem as it was typed, and in whole bytes. */
  readonly request: { readonly text: string; readonly bytes: number };
  readonly tasks: readonly ClientTask[];
}

export interface ClientTask {
  readonly task: number;
  readonly maxvmem: number;
  /** The slave tasks. */
  readonly slaves: readonly { readonly id: string; readonly host: string; readonly maxvmem: number }[];
}

const MIB = 1024 ** 2;
const GIB = 1024 ** 3;

/** Asks `qhost -j`, `qhost -F h_vmem` and, for these jobs, `qstat -j`. Rejects if one of the commands fails. */
export async function askClients(cell: Cell, jobs: readonly string[]): Promise<ClientAnswers> {
  const [hosts, resources, ...details] = await Promise.all([
    cell.check(cell.master, [client('qhost'), '-j', '-xml']),
    cell.check(cell.master, [client('qhost'), '-F', 'h_vmem']),
    ...jobs.map((job) => cell.qstat(['-j', job, '-xml'])),
  ]);
  const free = freeMemory(resources);
  return {
    hosts: new Map(
      namedBlocks(hosts, /<host name='(\w+)'>(.*?)<\/host>/gs)
        .filter(([name]) => name !== 'global')
        .map(([name, text]) => [name, parseHost(text, free.get(name) ?? NaN)]),
    ),
    jobs: new Map(details.map((xml) => [Number(inTag(xml, 'JB_job_number')), parseJob(xml)])),
  };
}

/** The two groups of each match: a name and a text. */
function namedBlocks(text: string, pattern: RegExp): readonly (readonly [string, string])[] {
  return [...text.matchAll(pattern)].map(([, name = '', inner = '']) => [name, inner] as const);
}

const inTag = (xml: string, tag: string): string => new RegExp(`<${tag}>([^<]*)</${tag}>`).exec(xml)?.[1] ?? '';

function freeMemory(text: string): ReadonlyMap<string, number> {
  return new Map(
    [...text.matchAll(/^(\w+) .*\n\s+Host Resource\(s\):\s+hc:h_vmem=([\d.]+)(G?)$/gm)].map(
      ([, host = '', amount = '', unit = '']) => [host, Number(amount) * (unit === 'G' ? GIB : 1)],
    ),
  );
}

function parseHost(text: string, free: number): ClientHost {
  const value = (name: string): string => new RegExp(`<hostvalue name='${name}'>([^<]*)<`).exec(text)?.[1] ?? '';
  const rows = namedBlocks(text, /<job name='(\d+)'>(.*?)<\/job>/gs).map(([job, row]) => {
    const of = (name: string): string => new RegExp(` name='${name}'>([^<]*)<`).exec(row)?.[1] ?? '';
    const task = of('taskid') === '' ? null : Number(of('taskid'));
    return { job: Number(job), task, owner: of('job_owner'), state: of('job_state'), role: of('pe_master') };
  });
  const groups = new Map<string, typeof rows>();
  for (const row of rows) {
    const key = `${row.job}.${row.task ?? ''}`;
    groups.set(key, [...(groups.get(key) ?? []), row]);
  }
  const jobs = [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const { job, task, owner, state } = first;
    const slaves = group.filter(({ role }) => role === 'SLAVE').length;
    // qhost prints a row for each slot, and one more for the master of a parallel job.
    return { job, task, owner, state, master: slaves < group.length, slots: Math.max(1, slaves) };
  });
  return { processors: value('num_proc'), memoryTotal: value('mem_total'), free, jobs };
}

function parseJob(xml: string): ClientJob {
  const request = namedBlocks(xml, /<(qstat_l_requests)>(.*?)<\/qstat_l_requests>/gs).find(
    ([, text]) => inTag(text, 'CE_name') === 'h_vmem',
  )?.[1];
  const text = inTag(request ?? '', 'CE_stringval');
  return {
    owner: inTag(xml, 'JB_owner'),
    uid: inTag(xml, 'JB_uid'),
    request: {
      text,
      // Open Cluster Scheduler prints the number with six digits.
      bytes: Math.floor(Number.parseFloat(text) * (text.endsWith('G') ? GIB : MIB)),
    },
    tasks: namedBlocks(xml, /<JAT_task_number>(\d+)<(.*?)(?=<JAT_task_number>|$)/gs).map(([number, task]) => ({
      task: Number(number),
      maxvmem: maxvmem(task, 'JAT_scaled_usage_list'),
      slaves: namedBlocks(task, /<PET_id>([^<]*)<(.*?)(?=<PET_id>|<\/JAT_task_list>)/gs).map(([id, slave]) => ({
        id,
        host: inTag(slave, 'JG_qhostname'),
        maxvmem: maxvmem(slave, 'PET_scaled_usage'),
      })),
    })),
  };
}

function maxvmem(xml: string, list: string): number {
  const text = new RegExp(`<${list}>(.*?)</${list}>`, 's').exec(xml)?.[1] ?? '';
  return Number(/<UA_name>maxvmem<\/UA_name>\s*<UA_value>([\d.e+]+)</.exec(text)?.[1] ?? NaN);
}
