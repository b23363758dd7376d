import type { Cell } from './cell';
import { client } from './kind';

/**
 * What Grid Engine's own clients say of the running jobs, as the expressions below find it in their text: the product's
 * readers have no part in it.
 */
export interface Said {
  readonly hosts: ReadonlyMap<string, SaidHost>;
  readonly jobs: ReadonlyMap<number, SaidJob>;
}

export interface SaidHost {
  readonly processors: string;
  readonly memoryTotal: string;
  /** Free h_vmem in bytes, of three decimals of a GiB. */
  readonly free: number;
  /** Of an array job one for each task. */
  readonly jobs: readonly SaidPart[];
}

export interface SaidPart {
  readonly job: number;
  readonly task: number | null;
  readonly owner: string;
  readonly state: string;
  readonly master: boolean;
  readonly slots: number;
}

export interface SaidJob {
  readonly owner: string;
  readonly uid: string;
  /** h_vmem, to the letter and in whole bytes. */
  readonly request: { readonly text: string; readonly bytes: number };
  readonly tasks: readonly SaidTask[];
}

export interface SaidTask {
  readonly task: number;
  readonly maxvmem: number;
  /** Those of `qrsh -inherit`. */
  readonly slaves: readonly { readonly id: string; readonly host: string; readonly maxvmem: number }[];
}

const MIB = 1024 ** 2;
const GIB = 1024 ** 3;

/** Asks `qhost -j`, `qhost -F h_vmem` and, for these jobs, `qstat -j`. Rejects where one of them fails. */
export async function askClients(cell: Cell, jobs: readonly string[]): Promise<Said> {
  const [hosts, resources, ...details] = await Promise.all([
    cell.check(cell.master, [client('qhost'), '-j', '-xml']),
    cell.check(cell.master, [client('qhost'), '-F', 'h_vmem']),
    ...jobs.map((job) => cell.qstat(['-j', job, '-xml'])),
  ]);
  const free = freeMemory(resources);
  return {
    hosts: new Map(
      blocks(hosts, /<host name='(\w+)'>(.*?)<\/host>/gs)
        .filter(([name]) => name !== 'global')
        .map(([name, text]) => [name, saidHost(text, free.get(name) ?? NaN)]),
    ),
    jobs: new Map(details.map((xml) => [Number(inTag(xml, 'JB_job_number')), saidJob(xml)])),
  };
}

/** `name` and `text` of each match. */
function blocks(text: string, pattern: RegExp): readonly (readonly [string, string])[] {
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

function saidHost(text: string, free: number): SaidHost {
  const value = (name: string): string => new RegExp(`<hostvalue name='${name}'>([^<]*)<`).exec(text)?.[1] ?? '';
  const rows = blocks(text, /<job name='(\d+)'>(.*?)<\/job>/gs).map(([job, row]) => {
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
    // A row for each slot, and another for the master of a parallel job.
    return { job, task, owner, state, master: slaves < group.length, slots: Math.max(1, slaves) };
  });
  return { processors: value('num_proc'), memoryTotal: value('mem_total'), free, jobs };
}

function saidJob(xml: string): SaidJob {
  const request = blocks(xml, /<(qstat_l_requests)>(.*?)<\/qstat_l_requests>/gs).find(
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
    tasks: blocks(xml, /<JAT_task_number>(\d+)<(.*?)(?=<JAT_task_number>|$)/gs).map(([number, task]) => ({
      task: Number(number),
      maxvmem: maxvmem(task, 'JAT_scaled_usage_list'),
      slaves: blocks(task, /<PET_id>([^<]*)<(.*?)(?=<PET_id>|<\/JAT_task_list>)/gs).map(([id, slave]) => ({
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
