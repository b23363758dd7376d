import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { asStored } from '../../../src/record/merge';
import { viewCluster } from '../../../src/live/view';
import { HIDDEN } from '../../../src/record/hidden';
import { redactRecords, redactSnapshot, redactView } from '../../../src/server/access/redaction';
import { mayAskFor, FULL_ACCESS, accessKey, type Access } from '../../../src/server/access/access';
import { ordinary } from '../../report/sample-records';
import { AT, answer, detail, taskDetail, usage, waiting, workedExample } from '../../live/snapshots';
import { USUAL_RULES } from '../../../src/record/request-rules';
import { accountOf } from '../../support/records';

const alice: Access = { level: 'anonymous', user: 'alice' };
const onlyAlice: Access = { level: 'own', user: 'alice' };
const nobody: Access = { level: 'anonymous', user: null };
const onlyNobody: Access = { level: 'own', user: null };
const ofProject = (projects: readonly string[], named: boolean, user: string | null = 'alice'): Access => ({
  level: 'project',
  user,
  projects,
  named,
});

const SECRETS = ['bob', 'mpi-of-bob', '1002', 'group-of-bob', 'department-of-bob', 'account-of-bob', 'message-of-bob'];

/** The worked example, with every field that could give bob away. */
const given = ((): ReturnType<typeof workedExample> => {
  const example = workedExample();
  const named = <T extends { readonly owner: string; readonly name: string }>(job: T): T =>
    job.owner === 'bob' ? { ...job, name: 'mpi-of-bob' } : job;
  const hosts = example.hosts.value.map((host) => ({ ...host, jobs: host.jobs.map(named) }));
  const running = example.running.value.map((job) =>
    job.owner === 'bob' ? { ...named(job), department: 'department-of-bob' } : job,
  );
  const details = example.details.value.map((job) =>
    job.owner === 'bob'
      ? {
          ...named(job),
          group: 'group-of-bob',
          department: 'department-of-bob',
          account: 'account-of-bob',
          messages: ['message-of-bob'],
        }
      : job,
  );
  const pending = [waiting(200, { owner: 'bob', name: 'mpi-of-bob', department: 'department-of-bob' }), waiting(201)];
  return {
    ...example,
    hosts: answer(hosts),
    running: answer(running),
    details: answer(details),
    pending: answer(pending),
  };
})();

const view = viewCluster(given, [], { rules: USUAL_RULES, nowMs: AT });

function secretsIn(value: unknown): readonly string[] {
  const text = JSON.stringify(value, (_key, inner: unknown) => (inner instanceof Map ? [...inner] : inner));
  return SECRETS.filter((secret) => text.includes(secret));
}

describe('redactSnapshot, redactView', () => {
  it('change nothing for a caller who sees all jobs', () => {
    assert.equal(redactSnapshot(given, view, FULL_ACCESS), given);
    assert.equal(redactView(view, FULL_ACCESS), view);
    assert.deepEqual(secretsIn(given), SECRETS);
    assert.deepEqual(secretsIn(view).toSorted(), ['1002', 'bob', 'mpi-of-bob']);
  });

  it('hide the owner of another user’s job and what it is called', () => {
    for (const access of [alice, onlyAlice, nobody, onlyNobody]) {
      assert.deepEqual(secretsIn(redactSnapshot(given, view, access)), [], accessKey(access));
      assert.deepEqual(secretsIn(redactView(view, access)), [], accessKey(access));
    }
  });

  it('show the jobs of others without names at level "anonymous"', () => {
    const seen = redactView(view, alice);
    assert.deepEqual(
      seen.jobs.map(({ job, owner, maxvmem }) => [job, owner, maxvmem]),
      view.jobs.map(({ job, owner, maxvmem }) => [job, owner === 'alice' ? 'alice' : HIDDEN, maxvmem]),
    );
    assert.deepEqual(
      seen.pending?.map(({ name }) => name),
      [HIDDEN, 'job201'],
    );
    const snapshot = redactSnapshot(given, view, alice);
    assert.equal(snapshot.running.value.length, given.running.value.length);
  });

  it('leave out the jobs of others at level "own", and keep the totals', () => {
    const seen = redactView(view, onlyAlice);
    assert.deepEqual([...new Set(seen.jobs.map(({ owner }) => owner))], ['alice']);
    assert.deepEqual(
      seen.pending?.map(({ job }) => job),
      [201],
    );
    const totals = (hosts: typeof view.hosts): unknown => hosts.map((host) => ({ ...host, parts: [] }));
    assert.deepEqual(totals(seen.hosts), totals(view.hosts));
    assert.ok(seen.hosts.every(({ parts }) => parts.every(({ owner }) => owner === 'alice')));
    assert.equal(redactView(view, onlyNobody).jobs.length, 0);
  });

  it('keep the totals of hosts in a snapshot, and mark missing jobs', () => {
    for (const access of [onlyAlice, onlyNobody, ofProject(['other'], true)]) {
      const seen = viewCluster(redactSnapshot(given, view, access), [], { rules: USUAL_RULES, nowMs: AT });
      for (const { name, capacity, requested, peak, used, unlimited, strandedSlots } of seen.hosts) {
        const whole = view.hosts.find((host) => host.name === name);
        assert.deepEqual(
          { capacity, requested, peak, used, unlimited, strandedSlots },
          {
            ...{ capacity: whole?.capacity, requested: whole?.requested, peak: whole?.peak, used: whole?.used },
            ...{ unlimited: whole?.unlimited, strandedSlots: whole?.strandedSlots },
          },
          `${accessKey(access)} ${name}`,
        );
      }
    }
    assert.equal(redactSnapshot(given, view, alice).hostTotals, undefined);
    assert.deepEqual(redactSnapshot(given, null, onlyAlice).hostTotals, []);
  });

  it("show the jobs of the caller's projects everywhere, and no others", () => {
    const jobsOfOthers = (jobs: readonly { readonly owner: string; readonly job: number }[]): readonly number[] => [
      ...new Set(jobs.filter(({ owner }) => owner !== 'alice').map(({ job }) => job)),
    ];
    const bobs = jobsOfOthers(view.jobs);
    assert.ok(bobs.length > 0);
    for (const [project, shown] of [
      ['genome', bobs],
      ['NONE', []],
      [null, []],
    ] as const) {
      const inProject = <T extends { readonly owner: string }>(job: T): T =>
        job.owner === 'bob' ? { ...job, project } : job;
      const cluster = { ...view, jobs: view.jobs.map(inProject) };
      const snapshot = { ...given, running: answer(given.running.value.map(inProject)) };
      for (const named of [true, false]) {
        const access = ofProject(['genome'], named);
        const seen = redactView(cluster, access);
        const snapshotSeen = redactSnapshot(snapshot, cluster, access);
        for (const jobs of [
          seen.jobs,
          seen.hosts.flatMap(({ parts }) => parts),
          snapshotSeen.running.value,
          snapshotSeen.hosts.value.flatMap((host) => host.jobs),
        ])
          assert.deepEqual(jobsOfOthers(jobs), shown, `${project ?? ''} ${named}`);
        if (named && project === 'genome') continue;
        assert.deepEqual([...secretsIn(seen), ...secretsIn(snapshotSeen)], []);
      }
    }
    for (const access of [ofProject([], true), ofProject(['other'], true), ofProject([], true, null)])
      assert.deepEqual(secretsIn(redactView(view, access)), []);
  });

  it("never take a job without a known owner for the caller's own", () => {
    const strange = { ...given, details: answer([detail(9, [taskDetail(usage(1))], { owner: '' })]) };
    assert.equal(redactSnapshot(strange, null, onlyNobody).details.value.length, 0);
  });
});

describe('redactRecords', () => {
  const record = {
    ...ordinary,
    owner: 'bob',
    job_name: 'mpi-of-bob',
    account: 'account-of-bob',
    program: 'mpi-of-bob',
    notes: ['message-of-bob'],
    grid_engine: accountOf({
      maxvmem_bytes: 1024,
      category: '-u bob -l h_vmem=4G',
      submit_command: 'qsub /home/bob/sim.sh',
      deleted_by: 'bob@login',
    }),
    peak_rss: ordinary.peak_rss === null ? null : { ...ordinary.peak_rss, command: 'mpi-of-bob' },
  };
  const records = [asStored(record), asStored({ ...ordinary, owner: 'alice' }), asStored({ ...ordinary, owner: null })];

  it('hide what names a person or what they run, and keep the figures', () => {
    const [hidden, own, unknown] = redactRecords(records, alice);
    assert.deepEqual(secretsIn(hidden), []);
    assert.equal(hidden?.record.peak_rss?.lower_bytes, ordinary.peak_rss?.lower_bytes);
    assert.deepEqual([hidden?.record.owner, unknown?.record.owner], [HIDDEN, HIDDEN]);
    assert.equal(own, records[1]);
    assert.equal(hidden?.record.grid_engine?.maxvmem_bytes, 1024);
  });

  it('leave out records of others, or change nothing', () => {
    assert.deepEqual(redactRecords(records, onlyAlice), [records[1]]);
    assert.deepEqual(redactRecords(records, onlyNobody), []);
    const genome = asStored({ ...record, project: 'genome' });
    const all = [...records, genome];
    assert.deepEqual(redactRecords(all, ofProject(['genome'], true)), [records[1], genome]);
    assert.deepEqual(redactRecords(all, ofProject([], true)), [records[1]]);
    assert.deepEqual(secretsIn(redactRecords(all, ofProject(['genome'], false))), []);
    assert.equal(redactRecords(records, FULL_ACCESS), records);
  });
});

describe('mayAskFor', () => {
  it('lets a user ask for others where jobs of shared projects are shown with names', () => {
    assert.equal(mayAskFor('bob', ofProject(['genome'], true)), true);
    assert.equal(mayAskFor('bob', ofProject(['genome'], false)), false);
    assert.equal(mayAskFor('alice', ofProject([], false)), true);
  });

  it('lets a user ask for their own jobs, and a caller who sees all for everybody’s', () => {
    assert.deepEqual(
      [alice, onlyAlice, nobody, onlyNobody, FULL_ACCESS].map((access) => [
        mayAskFor('alice', access),
        mayAskFor('bob', access),
      ]),
      [
        [true, false],
        [true, false],
        [false, false],
        [false, false],
        [true, true],
      ],
    );
  });
});

describe('accessKey', () => {
  it('differs for callers who see different jobs', () => {
    const accesses: Access[] = [
      ...[FULL_ACCESS, alice, onlyAlice, nobody, onlyNobody, { level: 'own', user: '' } as const],
      ...[ofProject([], true), ofProject([], false), ofProject(['a'], true), ofProject(['a', 'b'], true)],
      ...[ofProject(['a,b'], true), ofProject(['a'], true, 'bob'), ofProject(['a'], true, null)],
    ];
    assert.equal(new Set(accesses.map(accessKey)).size, accesses.length);
  });
});
