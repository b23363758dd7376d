import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { HistoryStore } from '../../../src/accounting/history-store';
import type { RecordFilter } from '../../../src/accounting/store';
import type { SummaryAnswer, SummaryQuery } from '../../../src/accounting/summary';
import type { JobRecord } from '../../../src/record/record';
import { oneOf } from '../../tries';
import { DAY, GIB, HOUR, iso, job, lineOf, peakOf, T0 } from './fixture';
import type { OpenStore } from './fixture';
import { nameOf, plainSummary } from './plain-summary';

const DAYS = 4;
const BYS = ['owner', 'project', 'queue', 'host', 'job_name', 'day', 'cluster'] as const;

/** Roll-ups keep the hours of the day in thousandths; all else differs only by the order of additions. */
const HOURS_TOLERANCE = 0.01;

export function assertSameSummary(actual: SummaryAnswer, expected: SummaryAnswer): void {
  const close = (a: number, b: number, within: number): boolean => Math.abs(a - b) <= within + 1e-9 * Math.abs(b);
  const totalsAre = (a: object, b: object, what: string): void => {
    for (const [name, value] of Object.entries(b) as [string, number][])
      assert.ok(
        close((a as Record<string, number>)[name] ?? NaN, value, 1e-6),
        `${what}: ${name} ${JSON.stringify([a, b])}`,
      );
  };
  totalsAre(actual.totals, expected.totals, 'totals');
  const keys = (answer: SummaryAnswer): unknown => answer.groups.map(({ key }) => key ?? '-').sort();
  assert.deepEqual(keys(actual), keys(expected));
  for (const group of expected.groups)
    totalsAre(actual.groups.find(({ key }) => key === group.key)?.totals ?? {}, group.totals, group.key ?? 'none');
  assert.deepEqual(actual.shares, expected.shares);
  assert.deepEqual(actual.coverage, expected.coverage);
  assert.equal(actual.hours.length, 24);
  for (const [index, hour] of expected.hours.entries())
    for (const [name, value] of Object.entries(hour) as [keyof typeof hour, number][])
      assert.ok(close(actual.hours[index]?.[name] ?? NaN, value, HOURS_TOLERANCE), `hour ${index} ${name}`);
}

/** Records of a small site, many of one job: reruns, slave tasks, accounting lines, heartbeats. */
const someRecord = fc
  .record({
    id: fc.integer({ min: 1, max: 6 }),
    task: fc.constantFrom(null, null, 1, 2),
    pe: fc.constantFrom(null, null, null, '1.node1', '1.node2', '2.node2'),
    host: fc.constantFrom('node1', 'node2', 'node3'),
    cluster: fc.constantFrom('cell', 'cell', 'other'),
    run: fc.constantFrom('a.1.1', 'a.2.2'),
    end: fc.oneof(fc.integer({ min: 0, max: DAYS * DAY - 1 }), fc.constantFrom(0, DAY, DAY - 1, 2 * DAY)),
    wallclock: fc.constantFrom(null, 0, 1.5, 3600, 100_000, 400_000),
    suspended: fc.constantFrom(null, 0, 1800, 100_000),
    owner: fc.constantFrom('bob', 'eve', null),
    project: fc.constantFrom('physics', null),
    name: fc.constantFrom('step_1', 'step_22', 'other', null),
    limit: fc.constantFrom(null, 4 * GIB, 10 * GIB),
    peak: fc.constantFrom(null, GIB, 2.5 * GIB, 4 * GIB, 11 * GIB),
    used: fc.constantFrom(null, 3600 * GIB),
    energy: fc.constantFrom({}, { energy_package_joules: 1000, energy_dram_joules: 24 }),
    samples: fc.constantFrom(null, 0, 10),
    exit: fc.constantFrom(0, 0, 137),
    status: fc.constantFrom('finished' as const, 'finished' as const, 'running' as const, 'lost' as const),
    revision: fc.nat({ max: 3 }),
    line: fc.boolean(),
  })
  .map((it): JobRecord => {
    const end = T0 + it.end;
    const wallclock = it.wallclock;
    const running = it.status === 'running';
    const record = job(it.id, end, {
      task_id: it.task,
      pe_task_id: it.pe,
      host: it.pe === null ? it.host : it.pe.slice(2),
      cluster: it.cluster,
      run_id: it.run,
      owner: it.owner,
      project: it.project,
      queue: 'all.q',
      job_name: it.name,
      status: it.status,
      ended_at: running ? null : iso(end),
      started_at: iso(end - (wallclock ?? 0) * 1000),
      wallclock_seconds: wallclock,
      suspended_seconds: it.suspended,
      h_vmem: it.limit === null ? null : { request_bytes: it.limit / 2, limit_bytes: it.limit, per: 'slot' },
      host_slots: it.limit === null ? null : it.limit === 4 * GIB ? 2 : 4,
      peak_rss: it.peak === null ? null : peakOf(it.peak),
      rss_byte_seconds: it.used,
      metrics: it.energy,
      samples: it.samples,
      exit_status: it.exit,
      pe: it.pe === null ? null : 'mpi',
    });
    const revised = { ...record, revision: end + it.revision };
    return it.line && !running ? lineOf(revised, { project: it.project, pe: 'mpi' }) : revised;
  });

type Step = 'roll-up' | readonly JobRecord[];

async function everyRecord(store: HistoryStore): Promise<readonly JobRecord[]> {
  const { records } = await store.records({ since: 0, until: T0 + 999 * DAY, limit: 100_000 });
  return records.map(({ record }) => record);
}

const QUERIES: readonly (readonly [
  Partial<RecordFilter>,
  (record: JobRecord, all: readonly JobRecord[]) => boolean,
])[] = [
  [{}, () => true],
  [{ cluster: 'other' }, ({ cluster }) => cluster === 'other'],
  [{ owner: 'bob' }, ({ owner }) => owner === 'bob'],
  [{ host: 'node2' }, ({ host }) => host === 'node2'],
  [{ host: 'node?' }, ({ host }) => /^node.$/.test(host)],
  [{ host: 'node1,nothing' }, ({ host }) => host === 'node1'],
  [{ project: 'physics', cluster: 'cell' }, (record) => record.project === 'physics' && record.cluster === 'cell'],
  [{ queue: 'all.q', owner: 'eve' }, (record) => record.queue === 'all.q' && record.owner === 'eve'],
  [{ owner: 'bob', project: 'physics' }, (record) => record.owner === 'bob' && record.project === 'physics'],
  [{ job_name: 'step_1' }, (record, all) => nameOf(record, all) === 'step_1'],
  [{ job_name: 'step_*' }, (record, all) => nameOf(record, all)?.startsWith('step_') ?? false],
  [{ name_class: 'step_#' }, (record, all) => nameOf(record, all)?.startsWith('step_') ?? false],
  [{ sampled: false }, ({ samples }) => !((samples ?? 0) > 0)],
];

/**
 * Summaries of an interval, from roll-ups and records, the same in every store. `asksByAll`: each check groups by all
 * of BYS, not by one of them in turn.
 */
export function summarySuite(open: OpenStore, { numRuns = 40, asksByAll = true } = {}): void {
  describe('summary', () => {
    const interval = { since: T0, until: T0 + DAYS * DAY };

    it('is the same as computed from all records, however many of them are rolled up', async (t) => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.oneof(fc.constant<Step>('roll-up'), fc.array(someRecord, { minLength: 1, maxLength: 6 })), {
            minLength: 1,
            maxLength: 6,
          }),
          fc.constantFrom(...BYS),
          fc.constantFrom(0, 1, DAY, DAY + HOUR / 2),
          fc.constantFrom(DAYS * DAY, 2 * DAY, 3 * DAY - 1),
          fc.constantFrom(null, 'jobs', 'far_below', 'cpu_seconds'),
          async (steps, by, from, to, sort) => {
            const store = await open(t);
            const queryFor = (filter: Partial<RecordFilter>): SummaryQuery => ({
              ...{ ...filter, since: T0 + from, until: T0 + to, by },
              ...(sort === null ? {} : { sort }),
            });
            for (const step of steps) {
              if (step === 'roll-up') await store.rollUp({});
              else await store.merge(step);
              // What a store keeps from one query for the next must not outlive the next step.
              const all = await everyRecord(store);
              for (const [filter, selects] of QUERIES)
                assertSameSummary(
                  await store.summary(queryFor(filter)),
                  plainSummary(all, queryFor(filter), (record) => selects(record, all)),
                );
            }
            const all = await everyRecord(store);
            for (const [filter, selects] of QUERIES) {
              const query = queryFor(filter);
              const filtered = { ...filter, since: query.since, until: query.until };
              const chosen = (record: JobRecord): boolean => selects(record, all);
              const answer = await store.summary(query);
              assertSameSummary(answer, plainSummary(all, query, chosen));
              // The last days are kept, not the first ones.
              const groups = by === 'day' && sort === null ? answer.groups.slice(-2) : answer.groups.slice(0, 2);
              const limited = await store.summary({ ...query, limit: 2 });
              assertSameSummary(limited, { ...answer, groups });
              assert.deepEqual(
                limited.groups.map(({ key }) => key),
                groups.map(({ key }) => key),
              );
              const { totals } = await store.records({ ...filtered, limit: 1 });
              assert.equal(totals.jobs, plainSummary(all, query, chosen).totals.jobs);
            }
            await store.close();
          },
        ),
        { numRuns, endOnFailure: true },
      );
    });

    it('includes of today whatever has been delivered, after any earlier query', async (t) => {
      const store = await open(t);
      const day = T0 + DAY;
      const at = (hour: number): number => day + hour * HOUR + HOUR / 2;
      const until = day + 9 * HOUR + HOUR / 2;
      let checks = 0;
      /** Runs each query twice: a store keeps the sums of an hour when they are needed again. */
      const check = async (): Promise<void> => {
        const all = await everyRecord(store);
        const turn = checks++ % BYS.length;
        const bys = asksByAll ? BYS : BYS.slice(turn, turn + 1);
        for (const filter of [{}, { project: 'physics' }, { owner: 'bob' }])
          for (const by of bys)
            for (const since of [T0 - 3 * DAY, T0 - HOUR, T0 + 4 * HOUR, day + HOUR]) {
              const query = { ...filter, since, until, by };
              const selects = ({ project, owner }: JobRecord): boolean =>
                (filter.project ?? project) === project && (filter.owner ?? owner) === owner;
              const expected = plainSummary(all, query, selects);
              assertSameSummary(await store.summary(query), expected);
              assertSameSummary(await store.summary(query), expected);
            }
      };
      const rerun = (id: number, hour: number): JobRecord =>
        lineOf(job(id, at(hour), { job_name: 'step_1', run_id: `a.${id}.${hour}` }));
      const task = (pe_task_id: string | null, hour: number): JobRecord =>
        job(9, at(hour), { pe_task_id, pe: 'mpi', run_id: `p.${hour}`, job_name: pe_task_id === null ? 'cfd' : null });
      await store.merge([rerun(1, -20)]);
      await store.rollUp({});
      const deliveries: readonly (readonly JobRecord[])[] = [
        [rerun(2, 3), rerun(3, 5), task('1.node1', 4)],
        // Into an hour that was queried.
        [rerun(4, 3)],
        // Reruns, each in an hour of its own: before the first run, after it, yesterday, at the first moment of today.
        [rerun(3, 2)],
        [rerun(2, 6)],
        [rerun(4, -3)],
        [rerun(1, -0.5)],
        // The master stands for the host instead of its slave task, and names the task.
        [task(null, 7)],
        // In the hour in which the interval ends, before and after its end.
        [rerun(5, 9 - 0.25), rerun(6, 9.25)],
        // A running job, and its end later than the heartbeat.
        [{ ...job(7, at(8)), status: 'running', ended_at: null }],
        [{ ...job(7, at(8) + HOUR / 3), revision: at(9) }],
      ];
      for (const records of deliveries) {
        await store.merge(records);
        await check();
      }
      await store.rollUp({});
      await check();
      await store.merge([rerun(8, 3)]);
      await check();
      await store.rollUp({});
      await check();
      await store.merge([rerun(10, 3)]);
      await store.rollUp({});
      await check();
    });

    it('reads no record of rolled-up days, and only changed days are rolled up again', async (t) => {
      const store = await open(t);
      await store.merge([job(1, T0 + HOUR), job(2, T0 + DAY + HOUR), job(3, T0 + 2 * DAY + HOUR)]);
      const read = async (since = T0): Promise<number> =>
        (await store.summary({ ...interval, since, by: 'owner' })).read;
      assert.equal(await read(), 3);
      assert.equal(await store.rollUp({}), 3);
      assert.equal(await read(), 0);
      assert.equal(await read(T0 + 1), 1);
      assert.equal(await store.rollUp({}), 0);
      await store.merge([{ ...job(2, T0 + DAY + HOUR), revision: T0 + 9 * DAY, cpu_seconds: 1 }]);
      assert.equal(await read(), 1);
      await store.merge([{ ...job(2, T0 + DAY + HOUR), revision: T0 + 9 * DAY, cpu_seconds: 1 }]);
      assert.equal(await store.rollUp({}), 1);
      assert.equal((await store.summary({ ...interval, by: 'owner' })).totals.cpu_seconds, 3601);
    });

    it('counts a job that ran on two days once, whether its days are rolled up or not', async (t) => {
      const store = await open(t);
      const jobs = async (since: number, until: number): Promise<number> =>
        (await store.summary({ since, until, by: 'owner' })).totals.jobs;
      await store.merge([job(1, T0 + DAY + 1, { run_id: 'second', started_at: iso(T0 + DAY) })]);
      await store.rollUp({});
      await store.merge([job(1, T0 + HOUR, { run_id: 'first' })]);
      for (const roll of [false, true]) {
        if (roll) await store.rollUp({});
        assert.equal(await jobs(T0, T0 + 2 * DAY), 1);
        assert.equal(await jobs(T0, T0 + DAY), 1);
        assert.equal(await jobs(T0 + DAY, T0 + 2 * DAY), 1);
        assert.equal(await jobs(T0 + 2 * HOUR, T0 + 2 * DAY), 1);
      }
    });

    it('is right over months and years, even if a day has changed since the roll-up', async (t) => {
      const store = await open(t);
      // Days and jobs; some jobs run again after the end of a month or year.
      const runs = [
        [0, 1],
        [1, 1],
        [29, 1],
        [30, 1],
        [31, 1],
        [60, 2],
        [61, 2],
        [92, 2],
        [200, 3],
        [425, 4],
        [426, 4],
        [800, 5],
      ] as const;
      const records = runs.map(([day, id], index) =>
        job(id, T0 + day * DAY + HOUR, { run_id: `a.${index}`, owner: index % 2 === 0 ? 'bob' : 'eve' }),
      );
      await store.merge(records);
      await store.rollUp({});
      for (const late of [false, true]) {
        if (late) {
          await store.merge([job(1, T0 + 40 * DAY, { run_id: 'late', owner: 'eve' })]);
          assert.ok((await store.summary({ since: T0, until: T0 + 900 * DAY, by: 'owner' })).read > 0);
        }
        for (const roll of [false, true]) {
          if (roll) await store.rollUp({});
          const all = await everyRecord(store);
          for (const by of ['owner', 'cluster', 'job_name', 'day'] as const)
            for (const [from, to] of [
              [0, 900],
              [10, 850.5],
              [30, 430],
              [61, 426],
            ] as const) {
              const query = { since: T0 + from * DAY, until: T0 + to * DAY, by };
              assertSameSummary(
                await store.summary(query),
                plainSummary(all, query, () => true),
              );
            }
        }
      }
    });

    it('over thousands of years is as fast as over the days with records', async (t) => {
      const store = await open(t);
      const ever = { since: 0, until: Date.UTC(9999, 11, 31) };
      const near = [job(1, T0 + HOUR), job(2, T0 + 40 * DAY, { owner: 'eve' })];
      const far = job(3, Date.UTC(2500, 5, 1, 12), { job_name: 'from_afar' });
      const check = (records: readonly JobRecord[], read: number): Promise<void> =>
        oneOf(3, async () => {
          for (const by of ['owner', 'day', 'cluster'] as const) {
            const query = { ...ever, by };
            const start = performance.now();
            const answer = await store.summary(query);
            assert.ok(performance.now() - start < 1000);
            assert.equal(answer.read, read);
            assertSameSummary(
              answer,
              plainSummary(records, query, () => true),
            );
          }
        });
      await store.merge(near);
      await store.rollUp({});
      await check(near, 0);
      await store.merge([far]);
      await check([...near, far], 1);
      await store.rollUp({});
      await check([...near, far], 0);
    });

    it('uses the days of a roll-up that was aborted, and the next roll-up goes on', async (t) => {
      const store = await open(t);
      await store.merge([job(1, T0), job(2, T0 + DAY), job(3, T0 + 2 * DAY)]);
      const stop = new AbortController();
      const seen: (readonly number[])[] = [];
      const rolled = await store.rollUp({
        signal: stop.signal,
        onProgress: (done, of) => {
          seen.push([done, of]);
          stop.abort();
        },
      });
      assert.deepEqual([rolled, seen], [1, [[1, 3]]]);
      assert.equal((await store.summary({ ...interval, by: 'owner' })).read, 2);
      assert.equal(await store.rollUp({}), 2);
    });

    it('spreads a job over the hours in which it ran, and counts peaks by their share of the limit', async (t) => {
      const store = await open(t);
      // From 22:00 to 02:00 UTC, 8 GiB requested, 0.5 GiB used.
      const night = job(1, T0 + DAY + 2 * HOUR, { wallclock_seconds: 4 * 3600, rss_byte_seconds: 2 * 3600 * GIB });
      await store.merge([night, job(2, T0 + DAY, { peak_rss: peakOf(8 * GIB), wallclock_seconds: null })]);
      const { hours, shares } = await store.summary({ ...interval, by: 'owner' });
      const hoursWithRequest = hours.flatMap(({ requested_gib_hours: amount }, hour) => (amount > 1e-9 ? [hour] : []));
      const local = [22, 23, 24, 25].map((hour) => new Date(T0 + hour * HOUR).getHours());
      if (new Date(T0).getTimezoneOffset() % 60 === 0)
        assert.deepEqual(
          hoursWithRequest,
          local.sort((a, b) => a - b),
        );
      const sum = (name: keyof (typeof hours)[number]): number =>
        Math.round(hours.reduce((total, hour) => total + hour[name], 0) * 1000) / 1000;
      assert.deepEqual([sum('requested_gib_hours'), sum('used_gib_hours'), sum('slot_hours')], [32, 2, 8]);
      assert.deepEqual(
        shares.flatMap((count, step) => (count > 0 ? [[step, count]] : [])),
        [
          [2, 1],
          [20, 1],
        ],
      );
    });

    it('gives both hours of the night on which clocks are put back their local time, also from roll-ups', async (t) => {
      const zone = process.env.TZ;
      t.after(() => {
        if (zone === undefined) delete process.env.TZ;
        else process.env.TZ = zone;
      });
      process.env.TZ = 'Europe/Berlin';
      const store = await open(t);
      // From 2:00 summer time to 3:00 winter time.
      await store.merge([job(1, Date.parse('2025-10-26T02:00:00Z'), { wallclock_seconds: 2 * 3600 })]);
      const day = { since: Date.parse('2025-10-26T00:00:00Z'), until: Date.parse('2025-10-27T00:00:00Z') };
      const inUse = async (): Promise<unknown> =>
        (await store.summary({ ...day, by: 'owner' })).hours.flatMap(({ slot_hours: amount }, hour) =>
          amount > 0 ? [[hour, amount]] : [],
        );
      assert.deepEqual(await inUse(), [[2, 4]]);
      await store.rollUp({});
      assert.deepEqual(await inUse(), [[2, 4]]);
    });

    it('lists the largest groups up to the limit, with totals of all groups', async (t) => {
      const store = await open(t);
      await store.merge([
        job(1, T0 + 1, { job_name: 'step_1_of_2', cpu_seconds: 1 }),
        job(2, T0 + 2, { job_name: 'step_20_of_30', cpu_seconds: 2 }),
        job(3, T0 + DAY, { job_name: 'other', cpu_seconds: 10 }),
        job(4, T0 + DAY, { job_name: null, cpu_seconds: 5 }),
      ]);
      const groups = async (query: Partial<SummaryQuery>): Promise<unknown> =>
        (await store.summary({ ...interval, by: 'job_name', ...query })).groups.map(({ key, totals }) => [
          key,
          totals.records,
        ]);
      for (const roll of [false, true]) {
        if (roll) await store.rollUp({});
        assert.deepEqual(await groups({}), [
          ['step_#_of_#', 2],
          ['other', 1],
          [null, 1],
        ]);
        assert.deepEqual(await groups({ sort: 'cpu_seconds', limit: 2 }), [
          ['other', 1],
          [null, 1],
        ]);
        assert.deepEqual(await groups({ sort: 'jobs', limit: 1 }), [['step_#_of_#', 2]]);
        assert.deepEqual(await groups({ by: 'day' }), [
          ['2026-11-01', 2],
          ['2026-11-02', 2],
        ]);
        assert.equal((await store.summary({ ...interval, by: 'host', limit: 0 })).totals.records, 4);
      }
      assert.deepEqual((await store.summary({ ...interval, by: 'owner', owner: 'nobody' })).groups, []);
    });

    it('ranks a group by its whole sum, not by the part that is rolled up', async (t) => {
      const store = await open(t);
      // The request counts at the host's first slave task, so what the second one used makes its unused memory negative.
      const task = job(1, T0 + HOUR, { pe: 'mpi', pe_task_id: '2.node1', peak_rss: peakOf(6 * GIB) });
      await store.merge([task, job(2, T0 + HOUR, { owner: 'eve', peak_rss: peakOf(5 * GIB) })]);
      await store.rollUp({});
      await store.merge([job(3, T0 + DAY + HOUR)]);
      const { groups } = await store.summary({ ...interval, by: 'owner', sort: 'unused_gib_hours', limit: 1 });
      assert.deepEqual(
        groups.map(({ key, totals }) => [key, totals.unused_gib_hours]),
        [['eve', 3]],
      );
    });

    it('cuts long names, with the same groups before and after a roll-up', async (t) => {
      const store = await open(t);
      const long = (size: number): string =>
        randomBytes(size)
          .toString('latin1')
          .replaceAll(/[^!-9;-~]/g, 'é');
      const [owner, project, job_name] = [long(2000), long(2000), `${long(2000)}\nsecond line`];
      await store.merge([job(1, T0 + 1, { owner, project, job_name }), job(2, T0 + 2, { owner, project, job_name })]);
      const ask = (by: SummaryQuery['by'], filter: Partial<RecordFilter> = {}): Promise<SummaryAnswer> =>
        store.summary({ ...interval, ...filter, by });
      const bys = ['owner', 'project', 'job_name'] as const;
      const filters = [{}, { owner }, { project }, { owner, project }];
      const answers = (): Promise<unknown> =>
        Promise.all(
          filters.flatMap((filter) =>
            bys.map(async (by) => {
              const { groups } = await ask(by, filter);
              assert.ok(groups.every(({ key, totals }) => Buffer.byteLength(key ?? '') <= 1400 && totals.jobs === 2));
              return groups;
            }),
          ),
        );
      const before = await answers();
      await store.rollUp({});
      assert.deepEqual(await answers(), before);
      assert.equal((await ask('owner', { owner })).read, 0);
      const { records } = await store.records({ ...interval, owner, limit: 10 });
      assert.equal(records.length, 2);
    });

    it('counts the slave tasks of a parallel job under its name, which their own records lack', async (t) => {
      const store = await open(t);
      // Each slave task uses most of its host's limit, the master nothing.
      const task = (pe_task_id: string, host: string): JobRecord =>
        job(7, T0 + HOUR, {
          pe_task_id,
          host,
          pe: 'mpi',
          job_name: null,
          slots: null,
          run_id: `a.${pe_task_id}`,
          peak_rss: peakOf(6 * GIB),
        });
      const tasks = [task('1.node1', 'node1'), task('1.node2', 'node2')];
      const stranger = { ...task('1.node3', 'node3'), owner: 'eve' };
      const byName = async (filter: Partial<RecordFilter> = {}): Promise<unknown> =>
        (await store.summary({ ...interval, by: 'job_name', ...filter })).groups
          .map(({ key, totals }) => [key, totals.records, totals.jobs, Math.round(totals.peak_gib_hours)])
          .sort();
      await store.merge([...tasks, stranger]);
      await store.rollUp({});
      assert.deepEqual(await byName(), [[null, 3, 1, 18]]);
      // The master's record comes last, and its job ended a day later.
      await store.merge([
        job(7, T0 + DAY + HOUR, { pe: 'mpi', host: 'node1', job_name: 'cfd_12', peak_rss: peakOf(0) }),
      ]);
      for (const roll of [false, true]) {
        if (roll) await store.rollUp({});
        assert.deepEqual(await byName(), [
          [null, 1, 1, 6],
          ['cfd_#', 3, 1, 12],
        ]);
        for (const named of [{ job_name: 'cfd_12' }, { job_name: 'cfd*' }, { name_class: 'cfd_#' }]) {
          assert.deepEqual(await byName(named), [['cfd_#', 3, 1, 12]]);
          const { records, totals } = await store.records({ ...interval, ...named });
          assert.deepEqual([records.length, totals.records, totals.jobs], [3, 3, 1]);
        }
        assert.deepEqual((await store.records({ ...interval, job_name: 'cfd_1' })).records, []);
      }
      // The records themselves have no name.
      const { records } = await store.job({ job_id: 7, cluster: 'cell', all: true });
      assert.equal(records.filter(({ record }) => record.job_name === null).length, 3);
    });

    it('counts jobs by the reason why they were not sampled', async (t) => {
      const store = await open(t);
      const unsampled = { samples: 0, peak_rss: null, rss_byte_seconds: null } as const;
      await store.merge([
        job(1, T0),
        job(2, T0, {
          ...unsampled,
          notes: ["Not sampled: the job's limit of 4096 KiB leaves no room for a sampler and could not be lifted."],
        }),
        job(3, T0, { ...unsampled, trust: 'self-reported' }),
        lineOf(job(4, T0)),
        lineOf(job(5, T0), { started_at: null, wallclock_seconds: 0, failed: 1, run_id: 'accounting.0.7.1' }),
        job(6, T0, {
          ...unsampled,
          notes: ['Not sampled: the sampler did not start or died before its first saved sample.'],
        }),
        job(7, T0, { status: 'running', ended_at: null, ...unsampled }),
      ]);
      const { coverage, totals } = await store.summary({ ...interval, by: 'owner' });
      assert.deepEqual(coverage, {
        sampled: 1,
        'no-hooks': 1,
        'never-started': 1,
        limits: 1,
        // Self-reported records are not counted.
        unprivileged: 0,
        'sampler-lost': 1,
        other: 0,
      });
      assert.equal(totals.unsampled, 4);
    });

    it('leaves out a self-reported record until an accounting line confirms it', async (t) => {
      const store = await open(t);
      const parallel = { pe: 'mpi', slots: 4, host_slots: 4, cluster: 'cell' } as const;
      const claimed = job(2, T0, { trust: 'self-reported', owner: 'mallory', cpu_seconds: 1e9 });
      const task = job(3, T0, { ...parallel, pe_task_id: '1.node1', run_id: 'ab.3.2' });
      await store.merge([
        job(1, T0),
        claimed,
        task,
        // Self-reported by another user, as if it were the master of that task.
        job(3, T0, { ...parallel, trust: 'self-reported', owner: 'mallory', run_id: 'ab.3.1' }),
      ]);
      for (const by of ['owner', 'cluster', 'day', 'host'] as const) {
        const { totals, groups } = await store.summary({ ...interval, by });
        assert.deepEqual([totals.records, totals.jobs, totals.cpu_seconds], [2, 2, 3600], by);
        assert.ok(groups.every(({ key }) => key !== 'mallory'));
        // The slave task counts for its host: its 4 slots and the 2 of job 1.
        assert.equal(totals.slot_seconds, (4 + 2) * 3600);
      }
      const list = await store.records({ ...interval, owner: 'mallory' });
      assert.deepEqual([list.records.length, list.totals.records], [2, 0]);
      const own = await store.records({ ...interval, owner: 'mallory', self_reported: true });
      assert.equal(own.totals.records, 2);
      await store.rollUp({});
      // Roll-ups, which leave out these records, do not hide their days from the list.
      const onHost = await store.records({ ...interval, host: claimed.host, limit: 100 });
      assert.equal(onHost.records.length, 4);
      await store.merge([lineOf(claimed)]);
      const { totals } = await store.summary({ ...interval, by: 'owner' });
      assert.deepEqual([totals.records, totals.cpu_seconds], [3, 3600 + (lineOf(claimed).cpu_seconds ?? 0)]);
    });
  });
}
