import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { categoryRequests } from '../../../src/gridengine/category-requests';
import { LEAST_ADDRESS_SPACE } from '../../../src/gridengine/memory-request';
import { parseMemorySize, parseTime } from '../../../src/gridengine/memory-size';
import { measure } from '../../../src/report/advice/advice';
import { ArrayNeeds } from '../../../src/report/advice/array-needs';
import { exactSize, nextTime, roundTime } from '../../../src/report/advice/next-time';
import { whyEnded } from '../../../src/report/why/why';
import type { JobRecord } from '../../../src/record/record';
import { tenMinutesOf } from '../bad-ends';
import { arrayOfTwenty, killedAtLimit, openBracket, ordinary } from '../sample-records';

const GIB = 1024 ** 3;

const lineOf = (...records: readonly JobRecord[]): string | null =>
  nextTime(records, [whyEnded(records)])?.line ?? null;
const valueOf = (read: typeof parseTime, text: string): number => {
  const parsed = read(text);
  assert.ok(parsed.ok);
  return parsed.value;
};

const single: JobRecord = { ...ordinary, pe: null, slots: 1, host_slots: 1 };
const asked = (category: string, changes: Partial<JobRecord> = {}): JobRecord => ({
  ...single,
  h_vmem: { request_bytes: 4 * GIB, limit_bytes: 4 * GIB, per: 'slot' },
  grid_engine: tenMinutesOf({ category, wallclock_seconds: 5025 }),
  ...changes,
});
const KILLED = { exit_status: 137, signal: 9, failed: 37 };

describe('rounding for a qsub line', () => {
  it('never shortens a time, and gives one that Grid Engine reads', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1e8 }), (seconds) => {
        const rounded = roundTime(seconds);
        assert.ok(rounded.seconds >= seconds && rounded.seconds < seconds * 1.5 + 60);
        assert.equal(valueOf(parseTime, rounded.text), rounded.seconds);
      }),
    );
  });

  it('writes a memory size that Grid Engine reads as the same', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2 ** 48 }), fc.constantFrom(1, 1024, 1024 ** 2, GIB), (count, unit) => {
        const bytes = Math.min(count * unit, Number.MAX_SAFE_INTEGER);
        assert.equal(valueOf(parseMemorySize, exactSize(bytes)), bytes);
      }),
    );
    assert.equal(exactSize(4 * GIB), '4G');
    assert.equal(exactSize(1.5 * GIB), '1536M');
  });
});

describe('nextTime', () => {
  it('says "per slot" only where the request is per slot', () => {
    const peak = openBracket(8 * GIB, null, null);
    const held = { slots: 4, host_slots: 4, peak_rss: peak, peak_rss_swap: peak, peak_process_vmem: peak };
    const reasonOf = (per: 'slot' | 'job'): string => {
      const mem_free = { request_bytes: GIB, limit_bytes: (per === 'job' ? 1 : 4) * GIB, per };
      const changes = { ...KILLED, ...held, h_vmem: null, requests: { mem_free }, peak_footprint: null };
      const stopped = asked('-l h_rt=5024,mem_free=1G', changes);
      return nextTime([stopped], [whyEnded([stopped])])?.reasons.join('; ') ?? '';
    };
    assert.match(reasonOf('slot'), /the peak so far \(2\.00 GiB per slot\)/);
    assert.match(reasonOf('job'), /the peak so far \(8\.00 GiB\)/);
  });

  it('names the client that submitted the job, as far as that is known', () => {
    const by = (job_name: string, submit_command: string | null = null): string | undefined =>
      lineOf({ ...killedAtLimit, job_name, grid_engine: tenMinutesOf({ submit_command }) })?.split(' ')[0];
    assert.deepEqual(
      ['QLOGIN', 'QRLOGIN', 'INTERACTIVE', 'QRSH.sh'].map((name) => by(name)),
      [...['qlogin', 'qrsh', 'qsh', 'qsub']],
    );
    assert.deepEqual([by('sort', '/opt/ocs/bin/qrsh -l h_vmem=4G sort'), by('sort', 'qsub qrsh')], ['qrsh', 'qsub']);
  });

  it('keeps a complex that only reserves memory, under its own name', () => {
    const requests = { mem_free: { request_bytes: 4 * GIB, limit_bytes: 4 * GIB, per: 'slot' } } as const;
    const stopped = asked('-l h_rt=5024,mem_free=4G', { ...KILLED, h_vmem: null, requests });
    assert.equal(lineOf(stopped), 'qsub -l mem_free=4G,h_rt=3:00:00');
    const ended = asked('-l mem_free=4G', { h_vmem: null, requests, peak_footprint: null });
    assert.equal(lineOf(ended), 'qsub -l mem_free=1.9G');
  });

  it('doubles the time limit that stopped a job, and keeps its memory', () => {
    const stopped = asked('-l h_rt=5024,h_vmem=4G,s_rt=5000', KILLED);
    assert.equal(lineOf(stopped), 'qsub -l h_vmem=4G,h_rt=3:00:00,s_rt=3:00:00');
    const reasons = nextTime([stopped], [whyEnded([stopped])])?.reasons.join('\n') ?? '';
    assert.match(reasons, /h_vmem as before\nh_rt: 3:00:00, twice the limit; how long it would have run is not known/);
    const cpu = asked('-l h_cpu=15680', { exit_status: 137, signal: 9 });
    assert.equal(lineOf(cpu), 'qsub -l h_vmem=4G,h_cpu=9:00:00');
  });

  it('asks for more memory and more time where either may have stopped the job', () => {
    const both = asked('-l h_rt=5024', { ...KILLED, peak_rss_swap: openBracket(4.1 * GIB, null, null) });
    assert.equal(lineOf(both), 'qsub -l h_vmem=6G,h_rt=3:00:00');
  });

  it('raises s_vmem together with h_vmem where memory was refused', () => {
    const sVmemOf2G = { s_vmem: { request_bytes: 2 * GIB, limit_bytes: 2 * GIB, per: 'slot' } } as const;
    const refused = asked('', {
      exit_status: 1,
      requests: sVmemOf2G,
      peak_process_vmem: openBracket(1.95 * GIB, null, null),
    });
    assert.equal(lineOf(refused), 'qsub -l h_vmem=4G,s_vmem=3G');
    const low = { ...refused, h_vmem: { request_bytes: 2.1 * GIB, limit_bytes: 2.1 * GIB, per: 'slot' } as const };
    assert.match(lineOf(low) ?? '', /^qsub -l h_vmem=(3|3\.2)G,s_vmem=3G$/);
    assert.equal(lineOf({ ...refused, h_vmem: null }), 'qsub -l s_vmem=3G');
    const { s_vmem: limit } = sVmemOf2G;
    const data = openBracket(1.95 * GIB, null, null);
    assert.equal(lineOf({ ...refused, requests: { h_data: limit }, peak_rss: data }), 'qsub -l h_vmem=4G,h_data=3G');
  });

  it('raises the request that was the limit of the cgroup', () => {
    const killed = { exit_status: 137, signal: 9 };
    const cgroupFull = (limit: number): object => ({ cgroup_oom_kills: 1, cgroup_memory_limit_bytes: limit });
    assert.equal(lineOf(asked('', { ...killed, metrics: { ...cgroupFull(4 * GIB) } })), 'qsub -l h_vmem=6G');
    const requests = { mem_limit: { request_bytes: 2 * GIB, limit_bytes: 2 * GIB, per: 'job' } } as const;
    const own = asked('', { ...killed, requests, metrics: { ...cgroupFull(2 * GIB) } });
    assert.equal(lineOf(own), 'qsub -l h_vmem=4G,mem_limit=3G');
    const resident = { h_rss: { request_bytes: 2 * GIB, limit_bytes: 2 * GIB, per: 'slot' } } as const;
    const lower = asked('', { ...killed, requests: resident, metrics: { ...cgroupFull(2 * GIB) } });
    assert.equal(lineOf(lower), 'qsub -l h_vmem=4G,h_rss=3G');
    const perSlot = { h_rss: { ...resident.h_rss, limit_bytes: 8 * GIB } };
    const ofSlot = asked('', { ...killed, requests: perSlot, metrics: { ...cgroupFull(2 * GIB) } });
    assert.equal(lineOf(ofSlot), 'qsub -l h_vmem=4G,h_rss=3G');
    const higher = { h_rss: { request_bytes: 8 * GIB, limit_bytes: 8 * GIB, per: 'slot' } } as const;
    const notThat = asked('', { ...killed, requests: higher, metrics: { ...cgroupFull(4 * GIB) } });
    assert.equal(lineOf(notThat), 'qsub -l h_vmem=6G');
  });

  it('raises the limit at which a job without samples was killed', () => {
    const unseen = { ...asked('-l h_vmem=4G', KILLED), status: 'unsampled', trust: 'accounting' } as const;
    const bare = { ...unseen, peak_rss: null, peak_rss_swap: null, peak_vmem: null, peak_process_vmem: null };
    const counted = { ...bare, grid_engine: tenMinutesOf({ category: '-l h_vmem=4G', maxvmem_bytes: 4.2 * GIB }) };
    assert.equal(lineOf(counted), 'qsub -l h_vmem=6G');
    const more = { ...bare, grid_engine: tenMinutesOf({ category: '-l h_vmem=4G', maxvmem_bytes: 9 * GIB }) };
    assert.equal(lineOf(more), 'qsub -l h_vmem=11G');
  });

  it('changes nothing where the host, the program or a person ended the job', () => {
    const killed = { exit_status: 137, signal: 9 };
    const byNode = asked('', { ...killed, metrics: { cgroup_oom_kills: 1, cgroup_oom_events: 0 } });
    assert.equal(lineOf(byNode), null);
    const nodeFull = { ...killed, metrics: { cgroup_oom_kills: 1, cgroup_memory_limit_bytes: 2 * GIB } };
    assert.equal(lineOf(asked('', nodeFull)), null);
    assert.equal(lineOf(asked('-l h_rt=9000', { ...killed, failed: 100 })), null);
    assert.equal(lineOf(asked('-l h_rt=9000', { exit_status: 139, signal: 11 })), null);
    assert.equal(lineOf(asked('-l h_rt=9000', { exit_status: 0, failed: 27 })), null);
  });

  it('gives the memory advice of jobs that ended well, and of jobs killed at h_vmem', () => {
    assert.equal(lineOf(ordinary), 'qsub -l h_vmem=650M');
    assert.equal(lineOf(killedAtLimit), 'qsub -l h_vmem=6G');
    assert.equal(lineOf(...arrayOfTwenty), 'qsub -l h_vmem=3G');
  });

  it('never asks for less than was measured, per slot', () => {
    const bytes = fc.integer({ min: 1, max: 2 ** 40 });
    // With less no program runs that could be measured.
    const limits = fc.integer({ min: LEAST_ADDRESS_SPACE, max: 2 ** 40 });
    const end = fc.constantFrom({}, KILLED, { exit_status: 134, signal: 6 }, { exit_status: 1 });
    fc.assert(
      fc.property(bytes, bytes, limits, fc.integer({ min: 1, max: 64 }), end, (rss, space, limit, slots, ended) => {
        const record = asked('-l h_rt=5000', {
          ...ended,
          host_slots: slots,
          peak_rss: openBracket(rss, null, null),
          peak_rss_swap: openBracket(rss, null, null),
          peak_process_vmem: openBracket(space, null, null),
          h_vmem: { request_bytes: limit, limit_bytes: limit * slots, per: 'slot' },
        });
        const line = lineOf(record);
        if (line === null) return;
        const text = categoryRequests(line.replace('qsub', '')).find(({ name }) => name === 'h_vmem')?.text;
        assert.ok(valueOf(parseMemorySize, text ?? '') * slots >= Math.max(rss, space) * 1.2 - slots, line);
      }),
    );
  });
});

describe('ArrayNeeds', () => {
  const tasks = (count: number, large: number): JobRecord[][] =>
    Array.from({ length: count }, (_, index) => {
      const peak = openBracket(index < large ? 3 * GIB : GIB, null, null);
      return [asked('', { peak_rss: peak, peak_rss_swap: peak, peak_process_vmem: peak })];
    });
  function most(all: readonly (readonly JobRecord[])[]): string | null {
    const needs = new ArrayNeeds();
    for (const task of all) needs.add(task.map(measure));
    return needs.most();
  }

  it('asks for a request that at least 99 of 100 tasks fit in, if the others need more', () => {
    assert.equal(most(tasks(200, 2)), 'h_vmem=1.2G');
    assert.equal(most(tasks(200, 3)), null);
    assert.equal(most(tasks(50, 0)), null);
  });

  it('uses the complex that stopped some of the tasks', () => {
    const peak = (bytes: number) => openBracket(bytes, null, null);
    const request = { request_bytes: 4 * GIB, limit_bytes: 4 * GIB, per: 'slot' as const };
    const byFree = { h_vmem: request, requests: { mem_free: request }, request_order: 'mem_free' };
    const small = { peak_rss: peak(GIB), peak_rss_swap: peak(GIB), peak_process_vmem: peak(2 * GIB) };
    const stopped = { peak_rss_swap: peak(4 * GIB), exit_status: 137, signal: 9, failed: 100 };
    const all = Array.from({ length: 200 }, (_, index) => [
      asked('', { ...byFree, ...small, ...(index === 0 ? stopped : {}) }),
    ]);
    assert.equal(most(all), 'h_vmem=2.4G');
  });
});
