import assert from 'node:assert/strict';
import type { ClientAnswers, ClientPart } from './client-answers';
import { mib } from './site';

export interface PartOfJson {
  readonly master: boolean;
  readonly slots: number;
  readonly limit_bytes: number | null;
  readonly master_maxvmem_bytes: number | null;
  readonly tasks: readonly { readonly id: string; readonly maxvmem_bytes: number | null }[];
  readonly rss_bytes: number | null;
  readonly peak_lower_bytes: number | null;
  readonly peak_upper_bytes: number | null;
  readonly figures_at: string | null;
}

interface NamesOfJson {
  readonly job_id: number;
  readonly task_id: number | null;
  readonly owner: string;
  readonly job_name: string;
}

export interface LiveJson {
  readonly problems: readonly string[];
  readonly jobs: readonly (NamesOfJson & {
    readonly uid: string | null;
    readonly state: string;
    readonly slots: number;
    readonly requests: readonly { readonly complex: string; readonly text: string; readonly bytes: number }[];
    readonly limit_bytes: number | null;
    readonly hosts: readonly (PartOfJson & { readonly host: string })[];
  })[];
  readonly pending: readonly { readonly job_id: number; readonly tasks: string | null }[] | null;
}

export interface HostsJson {
  readonly problems: readonly string[];
  readonly hosts: readonly {
    readonly host: string;
    readonly slots: number;
    readonly slots_used: number;
    readonly free_bytes: number;
    readonly requested_bytes: number;
    readonly jobs: readonly (NamesOfJson & PartOfJson)[];
  }[];
}

/** An answer of `/qhost` or `/qstat`. */
interface QmemJson<T> {
  readonly success: boolean;
  readonly message: string;
  readonly data: Readonly<Record<string, T>>;
}
export type QhostJson = QmemJson<{ readonly num_proc: string; readonly mem_total: string; readonly jobs: unknown }>;
export type QstatJson = QmemJson<{ readonly uid: string; readonly jobs: unknown }>;

/** One state of the cluster as Grid Engine's clients show it, and as the product does. */
export interface Views {
  /** Job names by job number, as submitted. */
  readonly names: ReadonlyMap<number, string>;
  readonly clients: ClientAnswers;
  readonly live: LiveJson;
  readonly hosts: HostsJson;
  readonly qhost: QhostJson;
  readonly qstat: QstatJson;
}

/** Asserts that hosts, jobs, tasks, slots, owners, requests and Grid Engine's memory figures are the same in all views. */
export function assertAgreement(views: Views): void {
  assertHostsAgree(views);
  assertLiveAgrees(views);
  assertQmemToolsAgree(views);
}

function assertHostsAgree({ clients, hosts, names }: Views): void {
  assert.deepEqual(hosts.problems, []);
  assert.deepEqual(
    hosts.hosts.map(({ host }) => host),
    [...clients.hosts.keys()],
  );
  for (const ours of hosts.hosts) {
    const theirs = clients.hosts.get(ours.host);
    assert.deepEqual(
      ours.jobs
        .map((part) => [part.job_id, part.task_id, part.owner, part.job_name, part.master, part.slots])
        .sort((a, b) => String(a).localeCompare(String(b))),
      theirs?.jobs
        .map((part) => [part.job, part.task, part.owner, names.get(part.job), part.master, part.slots])
        .sort((a, b) => String(a).localeCompare(String(b))),
      ours.host,
    );
    assert.equal(
      ours.slots_used,
      theirs?.jobs.reduce((sum, { slots }) => sum + slots, 0),
    );
    // qhost prints three decimals of a GiB.
    assert.ok(Math.abs(ours.free_bytes - (theirs?.free ?? NaN)) < mib(1), `${ours.free_bytes}, not ${theirs?.free}`);
    for (const part of ours.jobs) {
      const detail = clients.jobs.get(part.job_id);
      const ofTask = detail?.tasks.find(({ task }) => task === (part.task_id ?? 1));
      assert.ok(detail !== undefined && ofTask !== undefined);
      assert.equal(part.limit_bytes, detail.request.bytes * part.slots);
      assert.equal(part.master_maxvmem_bytes, part.master ? ofTask.maxvmem : null);
      assert.deepEqual(
        part.tasks.map(({ id, maxvmem_bytes: bytes }) => [id, bytes]),
        ofTask.slaves.filter(({ host }) => host === ours.host).map(({ id, maxvmem }) => [id, maxvmem]),
      );
    }
  }
}

function assertLiveAgrees({ clients, live, names }: Views): void {
  assert.deepEqual(live.problems, []);
  const parts = [...clients.hosts.values()].flatMap(({ jobs }) => jobs);
  assert.equal(live.jobs.length, [...clients.jobs.values()].flatMap(({ tasks }) => tasks).length);
  for (const job of live.jobs) {
    const detail = clients.jobs.get(job.job_id);
    const ofJob = parts.filter((part) => part.job === job.job_id && part.task === job.task_id);
    assert.ok(detail !== undefined && ofJob.length === job.hosts.length, `job ${job.job_id}.${job.task_id ?? ''}`);
    assert.deepEqual([job.owner, job.uid, job.job_name], [detail.owner, detail.uid, names.get(job.job_id)]);
    assert.equal(job.state, ofJob[0]?.state);
    const slots = ofJob.reduce((sum, part) => sum + part.slots, 0);
    assert.equal(job.slots, slots);
    assert.deepEqual(
      job.requests.map(({ complex, text, bytes }) => [complex, text, bytes]),
      [['h_vmem', detail.request.text, detail.request.bytes]],
    );
    assert.equal(job.limit_bytes, detail.request.bytes * slots);
  }
}

function assertQmemToolsAgree({ clients, qhost, qstat, names }: Views): void {
  assert.deepEqual([qhost.success, qhost.message, qstat.success, qstat.message], [true, '', true, '']);
  const byHost = [...clients.hosts].map(([host, { processors, memoryTotal, jobs }]) => {
    const numbers = [...new Set(jobs.map(({ job }) => job))];
    return [
      host,
      {
        num_proc: processors,
        mem_total: memoryTotal,
        jobs: Object.fromEntries(
          numbers.map((job) => {
            const parts = jobs.filter((part) => part.job === job);
            const answer = {
              jobcount: parts[0]?.slots,
              master: parts.some(({ master }) => master),
              taskid: parts.flatMap(({ task }) => (task === null ? [] : String(task))),
              jobname: names.get(job),
              owner: parts[0]?.owner,
            };
            return [job, answer];
          }),
        ),
      },
    ];
  });
  assert.deepEqual(qhost.data, Object.fromEntries(byHost));
  const byOwner: Record<string, { uid: string; jobs: Record<string, unknown> }> = {};
  for (const [job, { owner, uid, request }] of clients.jobs)
    (byOwner[owner] ??= { uid, jobs: {} }).jobs[job] = {
      requested_h_vmem_strval: request.text,
      requested_h_vmem_dblval: request.bytes,
      hostname: Object.fromEntries(
        [...clients.hosts].flatMap(([host, { jobs }]) => {
          const parts = jobs.filter((part) => part.job === job);
          return parts.length === 0
            ? []
            : [[host, Object.assign({}, ...parts.map((part) => memoryOf(clients, host, part)))]];
        }),
      ),
    };
  assert.deepEqual(qstat.data, byOwner);
}

/** maxvmem on a host by role, or of an array job by task, in the form of QmemTools. */
function memoryOf({ jobs }: ClientAnswers, host: string, part: ClientPart): Readonly<Record<string, string>> {
  const found = jobs.get(part.job)?.tasks.find(({ task }) => task === (part.task ?? 1));
  assert.ok(found !== undefined);
  if (part.task !== null) return { [part.task]: found.maxvmem.toFixed(6) };
  const slaves = found.slaves.filter((slave) => slave.host === host).reduce((sum, { maxvmem }) => sum + maxvmem, 0);
  return {
    ...(part.master ? { master: found.maxvmem.toFixed(6) } : {}),
    ...(slaves > 0 ? { slave: slaves.toFixed(6) } : {}),
  };
}
