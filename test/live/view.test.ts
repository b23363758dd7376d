import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { ClusterView, HostView, JobView } from '../../src/live/cluster-view';
import { viewCluster, type ViewOptions } from '../../src/live/view';
import { anyRecords, anySnapshot, someWaiting, trueJobs, truthfulSnapshot } from './arbitrary-snapshot';
import {
  answer,
  AT,
  GIB,
  hard,
  host,
  HOSTILE_NAME,
  HOSTILE_OWNER,
  listed,
  MIB,
  noAnswer,
  peRows,
  resource,
  row,
  sampleRecords,
  sampleSnapshot,
  snapshot,
  soft,
} from './snapshots';
import { RequestRules, USUAL_RULES } from '../../src/record/request-rules';
import { DEFAULT_SETTINGS } from '../../src/record/settings';

const RULES = {
  slot: USUAL_RULES,
  job: new RequestRules({ ...DEFAULT_SETTINGS, job_complexes: ['h_vmem'] }),
  host: new RequestRules({ ...DEFAULT_SETTINGS, host_complexes: ['h_vmem'] }),
};

const options: ViewOptions = { rules: USUAL_RULES, nowMs: AT };
const sample = (changes: Partial<ViewOptions> = {}): ClusterView =>
  viewCluster(sampleSnapshot(), sampleRecords(), { ...options, ...changes });

function hostOf(view: ClusterView, name: string): HostView {
  const found = view.hosts.find((one) => one.name === name);
  assert.ok(found, `no ${name}`);
  return found;
}

function jobOf(view: ClusterView, job: number, task: number | null = null): JobView {
  const found = view.jobs.find((one) => one.job === job && one.task === task);
  assert.ok(found, `no ${job}`);
  return found;
}

function sumOver<T>(items: readonly T[], value: (item: T) => number): number {
  return items.reduce((sum, item) => sum + value(item), 0);
}

describe('viewCluster', () => {
  it('lists every host and every job in order, with the facts of all answers', () => {
    const view = sample();
    assert.deepEqual(
      view.hosts.map(({ name, up }) => [name, up]),
      [
        ['node01', true],
        ['node02', true],
        ['node03', false],
        ['node04.example.org', true],
      ],
    );
    assert.deepEqual(
      view.jobs.map(({ job, task, slots, limitState }) => [job, task, slots, limitState]),
      [
        [101, null, 1, 'limited'],
        [102, 1, 1, 'limited'],
        [102, 2, 1, 'limited'],
        [102, 3, 1, 'limited'],
        [103, null, 4, 'limited'],
        [104, null, 4, 'limited'],
        [105, null, 1, 'unlimited'],
        [106, null, 1, 'limited'],
        [107, null, 1, 'limited'],
        [108, null, 1, 'limited'],
        [109, null, 1, 'unknown'],
        [110, null, 1, 'limited'],
      ],
    );
    assert.equal(view.at, AT);
    assert.deepEqual(view.problems, []);
    assert.deepEqual(
      view.pending?.map(({ job, tasks, slots }) => [job, tasks, slots]),
      [
        [201, '1-100:1', 1],
        [202, null, 8],
      ],
    );
  });

  it('calculates capacity, free, requested and used memory of hosts', () => {
    const node01 = hostOf(sample(), 'node01');
    // 101 4G, 102 two tasks of 2G, 103 2 x 3G, 104 2 x 1G
    assert.equal(node01.requested, 16 * GIB);
    assert.equal(node01.free, 40 * GIB);
    assert.equal(node01.capacity, 56 * GIB);
    assert.equal(hostOf(sample(), 'node02').capacity, (0.5 + 2 + 6 + 2 + 1 + 0.5) * GIB);
    // 101: 1.5 and what the sampler saw above that; 102: 1 + 0.5; 103: 2 + 1; 104: 0.5, as its ended tasks may
    // have run elsewhere.
    const more = (jobOf(sample(), 101).ours?.lower ?? 0) - 1.5 * GIB;
    assert.ok(more > 1 * GIB);
    assert.equal(node01.peak, 6.5 * GIB + more);
    assert.equal(node01.used, 6.25 * GIB + (jobOf(sample(), 101).ours?.rss ?? 0) - 1.5 * GIB);
    assert.deepEqual([node01.slots, node01.slotsUsed, node01.unlimited], [16, 7, 0]);
  });

  it("counts requests of the host's own consumable, where the limit is another complex", () => {
    const rules = new RequestRules({ ...DEFAULT_SETTINGS, request_complex: ['h_vmem', 'mem_free'] });
    const node = host('n', { jobs: [row(1), row(2), row(3)], resources: [resource('mem_free', '20G')] });
    const tight = host('tight', { resources: [resource('mem_free', '3G', 'hl')] });
    const requests = [
      [hard('40G', 'mem_free'), hard('8G', 'h_vmem')],
      [hard('4G', 'mem_free')],
      [hard('8G', 'h_vmem')],
    ];
    const jobs = requests.map((own, index) => listed(index + 1, 'all.q@n', { requests: own }));
    const view = viewCluster(snapshot({ hosts: answer([node, tight]), running: answer(jobs) }), [], {
      ...options,
      rules,
    });
    const { complex, capacity, requested, parts } = hostOf(view, 'n');
    assert.deepEqual([complex, capacity, requested], ['mem_free', 64 * GIB, 44 * GIB]);
    assert.deepEqual(
      parts.map((part) => [part.limit, part.reserved]),
      [
        [8 * GIB, 40 * GIB],
        [4 * GIB, 4 * GIB],
        [8 * GIB, 0],
      ],
    );
    // The load report of the host is less than what requests leave of its consumable.
    assert.deepEqual([hostOf(view, 'tight').capacity, hostOf(view, 'tight').free], [null, 3 * GIB]);
    const alone = snapshot({ hosts: answer([tight]), running: answer([]) });
    const complexOf = (own: Partial<typeof options>): string =>
      hostOf(viewCluster(alone, [], { ...options, ...own }), 'tight').complex;
    assert.equal(complexOf({ rules }), 'mem_free');
    assert.equal(complexOf({}), 'h_vmem', 'only a load value, where the site says nothing else');
  });

  it('gives no capacity to a host without the consumable', () => {
    const node04 = hostOf(sample(), 'node04.example.org');
    assert.deepEqual([node04.capacity, node04.free, node04.memoryTotal], [null, null, 62.8 * GIB]);
    assert.equal(node04.unlimited, 1);
    assert.deepEqual([node04.strandedMemory, node04.strandedSlots], [0, 0]);
    assert.deepEqual(
      node04.parts.map(({ job }) => job),
      [105, 110],
    );
  });

  it('keeps the jobs of a host that is down, and counts nothing as stranded there', () => {
    const node03 = hostOf(sample(), 'node03');
    assert.deepEqual([node03.memoryTotal, node03.load, node03.processors], [null, null, null]);
    assert.equal(node03.requested, 8 * GIB);
    assert.deepEqual([node03.strandedMemory, node03.strandedSlots], [0, 0]);
    assert.equal(jobOf(sample(), 108).maxvmem, null);
  });

  it('counts slots for which no memory is left', () => {
    // 0.5 GiB is left, 8 slots of all.q are free, the 4 of short.q are disabled; the usual request is 16 GiB per slot.
    assert.equal(hostOf(sample(), 'node02').strandedSlots, 8);
  });

  it('splits a job over its hosts, whether or not its master task has a slot', () => {
    for (const job of [103, 104]) {
      const { parts } = jobOf(sample(), job);
      assert.deepEqual(
        parts.map(({ host: where, slots, master }) => [where, slots, master]),
        [
          ['node01', 2, true],
          ['node02', 2, false],
        ],
      );
    }
  });

  it("keeps past_usage on the job, and on its master's host", () => {
    const job = jobOf(sample(), 104);
    assert.equal(job.maxvmem, (0.5 + 1.25 + 0.75) * GIB);
    assert.equal(job.vmem, (0.25 + 0.5) * GIB);
    assert.deepEqual(
      job.parts.map(({ pastMaxvmem }) => pastMaxvmem),
      [1.25 * GIB, null],
    );
  });

  it("counts a consumable of type JOB once, on the master's host", () => {
    const job = jobOf(sample({ rules: RULES.job }), 103);
    assert.equal(job.limit, 3 * GIB);
    assert.deepEqual(
      job.parts.map(({ reserved, limit }) => [reserved, limit]),
      [
        [3 * GIB, 3 * GIB],
        [0, 3 * GIB],
      ],
    );
  });

  it('counts a consumable of type HOST once on each host', () => {
    const job = jobOf(sample({ rules: RULES.host }), 103);
    assert.equal(job.limit, 6 * GIB);
    assert.deepEqual(
      job.parts.map(({ reserved, limit }) => [reserved, limit]),
      [
        [3 * GIB, 3 * GIB],
        [3 * GIB, 3 * GIB],
      ],
    );
  });

  it('adds up requests for the master and the slave tasks on each host', () => {
    const scopes = [
      { ...hard('4G'), scope: 'master' },
      { ...hard('1G'), scope: 'slave' },
    ] as const;
    const reserved = (slots: number, rules = USUAL_RULES): unknown => {
      const given = snapshot({
        hosts: answer([
          host('a', { jobs: peRows(1, true, 2), resources: [resource('h_vmem', '9G')] }),
          host('b', { jobs: peRows(1, false, 2) }),
        ]),
        running: answer([listed(1, 'q@a', { slots, requests: scopes })]),
      });
      const view = viewCluster(given, [], { ...options, rules });
      return [...jobOf(view, 1).parts.map((part) => part.reserved), hostOf(view, 'a').capacity];
    };
    // With job_is_first_task FALSE and TRUE.
    assert.deepEqual(reserved(5), [6 * GIB, 2 * GIB, 15 * GIB]);
    assert.deepEqual(reserved(4), [6 * GIB, 2 * GIB, 15 * GIB]);
    assert.deepEqual(reserved(5, RULES.host), [5 * GIB, GIB, 14 * GIB]);
    assert.deepEqual(reserved(5, RULES.job), [5 * GIB, 0, 14 * GIB]);
  });

  it('reserves nothing for a request of 0, although that sets a limit', () => {
    const given = snapshot({
      hosts: answer([host('a', { jobs: [row(1), row(1)], resources: [resource('h_vmem', '9G')] })]),
      running: answer([listed(1, 'q@a', { slots: 2, requests: [{ ...hard('0'), kind: 'default' }] })]),
    });
    const { capacity, requested, parts } = hostOf(viewCluster(given, [], options), 'a');
    assert.deepEqual([capacity, requested, parts[0]?.limit], [9 * GIB, 0, 20 * MIB]);
  });

  it('counts default requests, and only shows soft ones', () => {
    const job = jobOf(sample(), 106);
    assert.equal(job.limit, GIB);
    assert.deepEqual(
      job.requests.map(({ complex, kind, bytes }) => [complex, kind, bytes]),
      [
        ['h_vmem', 'default', GIB],
        ['mem_free', 'soft', 6 * GIB],
      ],
    );
    const asked = snapshot({ running: answer([listed(1, 'a@node01', { requests: [soft('9G')] })]) });
    const softJob = jobOf(viewCluster(asked, [], options), 1);
    assert.deepEqual([softJob.limit, softJob.limitState, softJob.parts[0]?.reserved], [null, 'unlimited', 0]);
  });

  it('shows the memory that a suspended job holds', () => {
    const job = jobOf(sample(), 105);
    assert.deepEqual([job.state, job.vmem, job.parts.length], ['s', 3 * GIB, 1]);
  });

  it('passes hostile names on unchanged', () => {
    const job = jobOf(sample(), 107);
    assert.deepEqual([job.name, job.owner, job.project], [HOSTILE_NAME, HOSTILE_OWNER, '<i>p']);
  });

  it('names the measure of the figures by dialect', () => {
    const measured = (dialect: ClusterView['dialect']): unknown =>
      jobOf(viewCluster({ ...sampleSnapshot(), dialect }, [], options), 101).measure;
    assert.equal(measured('sge8.1.9'), 'rss_swap_sum');
    assert.equal(measured('ogs'), 'vmem_sum');
    assert.equal(measured('ocs'), 'vmem_sum');
    assert.equal(measured('unknown'), null);
  });

  it("adds the sampler's figures and a trend", () => {
    const view = sample();
    const growing = jobOf(view, 101);
    assert.equal(growing.ours?.rss, GIB + 59 * 32 * MIB);
    // 1 GiB at the end of the first minute, 32 MiB more each minute: 3 GiB more take 96 minutes.
    assert.equal(growing.trend?.limitAt, AT - 3_600_000 + 97 * 60_000);
    assert.equal(jobOf(view, 107).ours, null);
    const parallel = jobOf(view, 103);
    assert.equal(parallel.ours?.rss, 4.25 * GIB);
    assert.equal(parallel.ours.lower, 2 * GIB);
    assert.equal(parallel.ours.upper, 4.25 * GIB + 4 * MIB);
    assert.equal(parallel.parts[1]?.ours?.rss, 1.25 * GIB);
  });

  it('takes no figures of another cluster with the same job numbers', () => {
    const theirs = sampleRecords().map((record) => ({ ...record, cluster: 'other' }));
    const { jobs } = viewCluster(sampleSnapshot(), theirs, options);
    assert.deepEqual(
      jobs.filter(({ ours }) => ours !== null),
      [],
    );
  });

  it('knows a job that only qstat lists, and one that only qhost lists', () => {
    const view = sample();
    const ofQstat = jobOf(view, 110);
    assert.deepEqual(
      ofQstat.parts.map(({ host: where, slots }) => [where, slots]),
      [['node04.example.org', 1]],
    );
    const ofQhost = jobOf(view, 109);
    assert.deepEqual(
      [ofQhost.owner, ofQhost.state, ofQhost.limit, ofQhost.parts[0]?.host],
      ['erin', 't', null, 'node02'],
    );
  });

  it('keeps the capacity of a host when qstat lists a job that qhost has not seen', () => {
    const view = viewCluster(
      snapshot({
        hosts: answer([host('node01', { resources: [resource('h_vmem', '60G')], jobs: [row(1)] })]),
        running: answer([
          listed(1, 'all.q@node01', { requests: [hard('4G')] }),
          listed(2, 'all.q@node01', { requests: [hard('8G')] }),
        ]),
      }),
      [],
      options,
    );
    assert.deepEqual([hostOf(view, 'node01').capacity, hostOf(view, 'node01').requested], [64 * GIB, 12 * GIB]);
  });

  it('shows jobs on hosts that qhost does not list, as when qhost has never answered', () => {
    const view = viewCluster({ ...sampleSnapshot(), hosts: noAnswer([], 'qhost: timed out') }, [], options);
    assert.deepEqual(
      view.hosts.map(({ name, up, capacity }) => [name, up, capacity]),
      [
        ['node01', true, null],
        ['node02', true, null],
        ['node04.example.org', true, null],
        ['node03', true, null],
      ],
    );
    assert.deepEqual(view.problems, ['qhost: timed out']);
    assert.deepEqual(
      jobOf(view, 103).parts.map(({ host: where, slots }) => [where, slots]),
      [
        ['node01', 2],
        ['node02', 2],
      ],
    );
  });

  it('is empty before the first answers', () => {
    const nothing = viewCluster(
      snapshot({ hosts: noAnswer([]), running: noAnswer([]), details: noAnswer([]) }),
      [],
      options,
    );
    assert.deepEqual([nothing.at, nothing.hosts, nothing.jobs, nothing.pending], [null, [], [], null]);
  });

  it('lists each problem once, and has the oldest time', () => {
    const problem = 'qmaster does not answer';
    const view = viewCluster(
      snapshot({ hosts: answer([], { problem, at: AT - 5 }), running: answer([], { problem }), details: noAnswer([]) }),
      [],
      options,
    );
    assert.deepEqual([view.problems, view.at], [[problem], AT - 5]);
  });

  it('tells hosts with the same first label apart', () => {
    const hosts = answer([host('node01.a', { jobs: peRows(1, true, 0) }), host('node01.b', { jobs: [row(2)] })]);
    const view = viewCluster(snapshot({ hosts }), [], options);
    assert.deepEqual(
      view.hosts.map(({ parts }) => parts.map(({ job }) => job)),
      [[1], [2]],
    );
  });

  it('finds the true slots, requests and peaks on every host', () => {
    fc.assert(
      fc.property(trueJobs, fc.constantFrom('slot', 'job'), someWaiting, (jobs, hVmem, waiting) => {
        const given = { ...truthfulSnapshot(jobs), pending: answer(waiting) };
        const view = viewCluster(given, [], { ...options, rules: RULES[hVmem] });
        assert.equal(view.jobs.length, jobs.length);
        assert.equal(view.hosts.length, 4);
        for (const truth of jobs) {
          const job = jobOf(view, truth.job);
          const expected = truth.places.map(({ host: where, slots, peaks }, index) => {
            const taken = hVmem === 'job' ? (index === 0 ? 1 : 0) : slots;
            const sum = sumOver(peaks, (peak) => peak);
            return [`${where}.example.org`, slots, index === 0, (truth.perSlot ?? 0) * taken, sum];
          });
          assert.deepEqual(
            job.parts
              .map((part) => [
                part.host,
                part.slots,
                part.master,
                part.reserved,
                sumOver(part.tasks, ({ maxvmem }) => maxvmem ?? 0),
              ])
              .sort(byHost),
            expected.sort(byHost),
          );
          const all = sumOver(truth.places, ({ peaks }) => sumOver(peaks, (peak) => peak));
          assert.equal(job.maxvmem, truth.masterPeak + all + (truth.past ?? 0));
        }
        assert.equal(
          sumOver(view.hosts, ({ peak }) => peak ?? 0),
          // Where ended tasks ran is unknown: those of a job on several hosts count on no host.
          sumOver(view.jobs, ({ maxvmem }) => maxvmem ?? 0) -
            sumOver(jobs, ({ places, past }) => (places.length > 1 ? (past ?? 0) : 0)),
        );
        const limits = sumOver(view.jobs, ({ limit }) => limit ?? 0);
        assert.equal(
          sumOver(view.hosts, ({ requested }) => requested),
          limits,
        );
        if (hVmem === 'slot') for (const one of view.hosts) assert.equal(one.capacity, 64 * GIB);
      }),
      { numRuns: 300 },
    );
  });

  it('loses no job, for any answers that the types allow', () => {
    fc.assert(
      fc.property(anySnapshot, anyRecords, fc.constantFrom('slot', 'job'), (given, records, hVmem) => {
        const view = viewCluster(given, records, { ...options, rules: RULES[hVmem] });
        const shown = new Set(view.jobs.map(({ job }) => job));
        for (const { job } of given.running.value) assert.ok(shown.has(job));
        for (const { jobs } of given.hosts.value) for (const { job } of jobs) assert.ok(shown.has(job));
        const ofHosts = view.hosts.flatMap(({ parts }) => parts);
        assert.equal(
          ofHosts.length,
          sumOver(view.jobs, ({ parts }) => parts.length),
        );
        assert.equal(new Set(view.hosts.map(({ name }) => name)).size, view.hosts.length);
        for (const one of view.hosts) {
          assert.ok(one.requested >= 0 && (one.peak ?? 0) >= 0 && one.strandedMemory >= 0 && one.strandedSlots >= 0);
          for (const { slots } of one.parts) assert.ok(slots >= 0);
        }
        assert.doesNotThrow(() => JSON.stringify(view));
      }),
      { numRuns: 500 },
    );
  });
});

function byHost(a: readonly unknown[], b: readonly unknown[]): number {
  return String(a[0]).localeCompare(String(b[0]));
}
