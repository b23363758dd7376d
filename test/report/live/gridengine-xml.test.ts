import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { QhostHost } from '../../../src/gridengine/qhost/qhost-report';
import { readQhost } from '../../../src/gridengine/qhost/read-qhost';
import type { ListedJob } from '../../../src/gridengine/qstat/job-list';
import { readJobList } from '../../../src/gridengine/qstat/read-job-list';
import { xmlWriter } from '../../../src/gridengine/xml/write-xml';
import type { Snapshot } from '../../../src/live/snapshot';
import { viewCluster } from '../../../src/live/view';
import { USUAL_RULES } from '../../../src/record/request-rules';
import { NO_FILTER, type LiveFilter } from '../../../src/report/live/filter';
import { renderQhostXml, renderQstatXml } from '../../../src/report/live/gridengine-xml';
import { chooseHosts, chooseJobs, filterOf } from '../../../src/report/live/live-options';
import { feed } from '../../gridengine/feed';
import { recorded } from '../../gridengine/recorded';
import { readStrictly, type ReadElement } from '../../gridengine/xml/strict-reader';
import { anySnapshot } from '../../live/arbitrary-snapshot';
import { answer, AT, host, listed, row, sampleSnapshot, snapshot } from '../../live/snapshots';

function read<T>(reader: Parameters<typeof feed<T>>[0], text: string | Buffer): readonly T[] {
  const { items, end } = feed(reader, text);
  assert.deepEqual([end.state, end.dialect], ['complete', 'sge8.1.9']);
  return items;
}

const rows = (text: string | Buffer): readonly ListedJob[] => read(readJobList, text);
const hosts = (text: string | Buffer): readonly QhostHost[] => read(readQhost, text);
const view = (given: Snapshot): ReturnType<typeof viewCluster> =>
  viewCluster(given, [], { rules: USUAL_RULES, nowMs: AT });

/** Answers of a real 8.1.9 cell, with waiting jobs. */
function busy(): Snapshot {
  const all = rows(recorded('8.1.9', 'busy.qstat-r'));
  return snapshot({
    hosts: answer(hosts(recorded('8.1.9', 'busy.qhost-F-q-j'))),
    running: answer(rows(recorded('8.1.9', 'busy.qstat-rs'))),
    pending: answer(all.filter(({ list }) => list === 'pending')),
  });
}

function qstat(given: Snapshot, queues: LiveFilter | null = null, asked = {}): string {
  return renderQstatXml(given, chooseJobs(view(given), { pending: true, ...asked }), queues, xmlWriter());
}

function qhost(given: Snapshot, asked = {}): string {
  return renderQhostXml(given, chooseHosts(view(given), asked).hosts, xmlWriter());
}

const inOrder = <T extends { readonly job: number; readonly tasks: string | null }>(items: readonly T[]): T[] =>
  [...items].sort((a, b) => a.job - b.job || Number(a.tasks) - Number(b.tasks));

function all(element: ReadElement, tag: string): readonly ReadElement[] {
  const here = element.tag === tag ? [element] : [];
  return [...here, ...element.children.flatMap((child) => all(child, tag))];
}

const textOf = (element: ReadElement, tag: string): string =>
  element.children.find((child) => child.tag === tag)?.text ?? '';

describe('our XML in the form of Grid Engine', () => {
  it('has every job of the real qstat, with all fields that are read', () => {
    const given = busy();
    const { running, pending } = given;
    assert.ok(running.value.length > 5 && (pending?.value.length ?? 0) > 3);
    assert.deepEqual(inOrder(rows(qstat(given))), inOrder([...running.value, ...(pending?.value ?? [])]));
  });

  it('has every host, queue, resource and job of the real qhost', () => {
    const given = busy();
    assert.deepEqual(hosts(qhost(given)), given.hosts.value);
    assert.ok(given.hosts.value.some(({ jobs, resources }) => jobs.length > 5 && resources.length > 20));
  });

  it('prints the elements of a job in the order of the real qstat', () => {
    const tagsOf = (text: string): ReadonlyMap<string, readonly string[]> =>
      new Map(
        all(readStrictly(text), 'job_list').map((job) => [
          `${textOf(job, 'JB_job_number')}.${textOf(job, 'tasks')}`,
          job.children.map(({ tag }) => tag),
        ]),
      );
    const real = tagsOf(recorded('8.1.9', 'busy.qstat-rs').toString());
    const ours = tagsOf(qstat({ ...busy(), pending: null }));
    assert.deepEqual([...ours.keys()].sort(), [...real.keys()].sort());
    for (const [job, tags] of ours)
      assert.deepEqual(
        tags,
        real.get(job)?.filter((tag) => tags.includes(tag)),
      );
  });

  it('lists each job in its queue instances with the slots there, as the real qstat -f does', () => {
    const place = ({ job, tasks, queueInstance, slots }: ListedJob): string =>
      [job, tasks, queueInstance, slots].join(' ');
    const isRunning = ({ list }: ListedJob): boolean => list === 'running';
    const real = recorded('8.1.9', 'busy.qstat-f-F');
    const ours = qstat(busy(), NO_FILTER);
    assert.deepEqual(rows(ours).filter(isRunning).map(place).sort(), rows(real).filter(isRunning).map(place).sort());
    const queues = (text: string): readonly (readonly string[])[] =>
      all(readStrictly(text), 'Queue-List').map((queue) =>
        ['name', 'qtype', 'slots_used', 'slots_resv', 'slots_total', 'arch'].map((tag) => textOf(queue, tag)),
      );
    assert.deepEqual(queues(ours), queues(real.toString()));
    const resources = all(readStrictly(ours), 'resource').map(({ attributes, text }) => `${attributes.name} ${text}`);
    // Readers of -F learn from these two which queue and host it is.
    assert.ok(resources.includes('qname all.q') && resources.includes('hostname ge1'));
  });

  it("splits the slots of a host over its two queues, and leaves out a master's row that is no slot", () => {
    const given = snapshot({
      hosts: answer([
        host('node01', {
          jobs: [
            row(7, { queueInstance: 'all.q@node01', role: 'MASTER' }),
            row(7, { queueInstance: 'all.q@node01', role: 'SLAVE' }),
            row(7, { queueInstance: 'long.q@node01', queue: 'long.q', role: 'SLAVE' }),
          ],
        }),
      ]),
      running: answer([listed(7, 'all.q@node01', { slots: 2, grantedPe: 'mpi' }), listed(8, 'odd.q@node09')]),
    });
    const places = rows(qstat(given, NO_FILTER)).map(({ job, queueInstance, slots }) => [job, queueInstance, slots]);
    assert.deepEqual(places.sort(), [
      [7, 'all.q@node01', 1],
      [7, 'long.q@node01', 1],
      [8, 'odd.q@node09', 1],
    ]);
    const filter = filterOf({ queue: ['long.q'] });
    const chosen = all(readStrictly(qstat(given, filter)), 'Queue-List').map((queue) => textOf(queue, 'name'));
    assert.deepEqual(chosen, ['long.q@node01']);
  });

  it('holds the jobs and hosts of the filter only', () => {
    const given = sampleSnapshot();
    const owners = (text: string): readonly string[] => [...new Set(rows(text).map(({ owner }) => owner))];
    assert.ok(owners(qstat(given)).length > 2);
    assert.deepEqual(owners(qstat(given, null, { owner: ['bob'] })), ['bob']);
    assert.equal(
      rows(qstat(given, null, { pending: false })).some(({ list }) => list === 'pending'),
      false,
    );
    const [only, ...more] = hosts(qhost(given, { host: ['node01'], owner: ['bob'] }));
    assert.deepEqual([only?.name, more.length], ['node01', 0]);
    assert.deepEqual([...new Set(only?.jobs.map(({ owner }) => owner))], ['bob']);
  });

  it('is well-formed for any snapshot', () => {
    const write = xmlWriter();
    fc.assert(
      fc.property(anySnapshot, (given) => {
        const seen = view(given);
        for (const queues of [null, NO_FILTER])
          assert.equal(
            readStrictly(renderQstatXml(given, chooseJobs(seen, { pending: true }), queues, write)).tag,
            'job_info',
          );
        assert.equal(readStrictly(renderQhostXml(given, chooseHosts(seen, {}).hosts, write)).tag, 'qhost');
      }),
      { numRuns: 50 },
    );
  });
});
