import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { PerfErrno } from '../../../src/native/perf-error';
import type { PerfCount } from '../../../src/native/perf-event';
import { openPerf, probePerf, type OpenPerf, type PerfTarget } from '../../../src/sources/job/perf';
import type { PerfReading } from '../../../src/sources/job/perf-metrics';
import { isUnavailable, type Unavailable } from '../../../src/sources/source';
import { codeOf, fakePerf, placeOf, type FakePerf } from './perf-fixtures';
import { temporaryDirectory } from '../../support/temporary-directory';

// Hardware counters were not at hand: the system calls below are a stand-in for a kernel and its CPU.

const SHEPHERD: PerfTarget = { pid: 4242 };
const ALONE: PerfTarget = { ...SHEPHERD, includeSelf: true };

const count = (raw: number, enabledNs = 1e9, runningNs = enabledNs): PerfCount => ({ raw, enabledNs, runningNs });

function opened(result: OpenPerf | Unavailable): OpenPerf {
  assert.ok(!isUnavailable(result), isUnavailable(result) ? result.unavailable : '');
  return result;
}

const open = (target: PerfTarget, names: string, calls: FakePerf, place = placeOf('intel-xeon')): OpenPerf =>
  opened(openPerf(target, names.split(' '), place, calls));

function only(perf: OpenPerf): PerfReading {
  const readings = perf.read();
  assert.equal(readings.length, 1);
  return readings[0] as PerfReading;
}

/** A /proc with the shepherd's children and a limit of open files. */
function procWith(files: { children?: string; limit?: number; paranoid?: string }): string {
  const proc = temporaryDirectory();
  const put = (path: string, text: string): void => {
    mkdirSync(join(proc, path, '..'), { recursive: true });
    writeFileSync(join(proc, path), text);
  };
  if (files.children !== undefined) {
    put('1/task/1/children', '');
    put('4242/task/4242/children', files.children);
  }
  if (files.limit !== undefined)
    put(
      'self/limits',
      `Max open files            ${files.limit}                 ${files.limit}                files     \n`,
    );
  if (files.paranoid !== undefined) put('sys/kernel/perf_event_paranoid', `${files.paranoid}\n`);
  return proc;
}

describe('a process', () => {
  it('is subtracted from the count that includes its children', () => {
    const calls = fakePerf({ count: ({ inherit }) => (inherit ? count(5000) : count(200)) });
    const perf = open(SHEPHERD, 'instructions', calls);
    assert.deepEqual(only(perf), { event: 'instructions', value: 4800, scaledShare: 1 });
    assert.equal(perf.descriptors, 2);
    for (const request of calls.alive.values()) assert.equal(request.pid, 4242);
  });

  it('is included in the count where it belongs to the job', () => {
    const perf = open(ALONE, 'instructions', fakePerf({ count: () => count(5000) }));
    assert.equal(only(perf).value, 5000);
    assert.equal(perf.descriptors, 1);
  });

  it('never makes a value fall: the two readings are not of one moment', () => {
    const calls = fakePerf({
      count: ({ inherit }, reading) => (inherit ? count(1000, reading) : count(reading * 10, reading)),
    });
    const perf = open(SHEPHERD, 'instructions', calls);
    assert.equal(only(perf).value, 990);
    assert.equal(only(perf).value, 990);
  });

  it('is counted on where a counter wraps at 64 bits', () => {
    const steps = [2 ** 64 - 4096, 4096];
    const calls = fakePerf({ count: (_, reading) => count(steps[reading - 1] ?? 0, reading * 1e9) });
    const perf = open(ALONE, 'instructions', calls);
    const first = only(perf).value ?? NaN;
    assert.equal((only(perf).value ?? NaN) - first, 8192);
  });

  it('keeps its last figures when the kernel gives no more', () => {
    const calls = fakePerf({ count: (_, reading) => (reading > 1 ? null : count(5000)) });
    const perf = open(ALONE, 'instructions', calls);
    assert.equal(only(perf).value, 5000);
    assert.equal(only(perf).value, 5000);
  });

  it('has children that started before listed as uncovered', () => {
    const uncovered = (proc: string) =>
      open(SHEPHERD, 'page_faults', fakePerf(), { ...placeOf('intel-xeon'), proc }).uncoveredChildren;
    assert.deepEqual(uncovered(procWith({ children: '77 78 ' })), [77, 78]);
    assert.deepEqual(uncovered(procWith({ children: '' })), []);
    assert.equal(uncovered(procWith({})), null);
  });

  it('makes perf unavailable when it is gone', () => {
    const calls = fakePerf({ refuse: () => PerfErrno.ESRCH });
    const result = openPerf(SHEPHERD, ['page_faults'], placeOf('intel-xeon'), calls);
    assert.ok(isUnavailable(result));
    assert.equal(result.unavailable, 'process 4242: the process is gone');
  });
});

describe('multiplexing', () => {
  it('is scaled and reported', () => {
    const perf = open(ALONE, 'r1a2b', fakePerf({ count: () => count(100, 4e9, 1e9) }));
    assert.deepEqual(only(perf), { event: 'r1a2b', value: 400, scaledShare: 0.25 });
  });

  it('leaves an event that never had a counter without a value', () => {
    const perf = open(ALONE, 'r1a2b', fakePerf({ count: () => count(0, 4e9, 0) }));
    assert.deepEqual(only(perf), { event: 'r1a2b', value: null, scaledShare: 0 });
  });

  it('is not assumed for a job that has not run yet', () => {
    const perf = open(ALONE, 'r1a2b', fakePerf({ count: () => count(0, 0, 0) }));
    assert.deepEqual(only(perf), { event: 'r1a2b', value: 0, scaledShare: 1 });
  });

  it('is reported for the job without the shepherd', () => {
    const calls = fakePerf({ count: ({ inherit }) => (inherit ? count(110, 3e9, 1.5e9) : count(10, 2e9, 0.5e9)) });
    assert.equal(only(open(SHEPHERD, 'r1a2b', calls)).scaledShare, 1);
  });
});

describe('groups', () => {
  it('have one leader, which is enabled and starts the other events', () => {
    const calls = fakePerf();
    open(ALONE, 'task_clock cpu_cycles instructions', calls);
    assert.equal(calls.leaderOf('0:1'), '0:0');
    assert.equal(calls.leaderOf('1:1'), '1:1');
    for (const [fd, { group, disabled }] of calls.alive) {
      assert.equal(disabled, group < 0);
      assert.equal(calls.enabled.has(fd), group < 0);
    }
  });

  it('are split where the CPU has too few counters, and a note says so', () => {
    const calls = fakePerf({ counters: 2 });
    const perf = open(ALONE, 'cpu_cycles instructions cache_misses', calls);
    assert.equal(calls.leaderOf('0:1'), '0:0');
    assert.equal(calls.leaderOf('0:3'), '0:3');
    assert.deepEqual(perf.notes, ["the CPU can't count cycles, instructions and misses all at once"]);
    assert.deepEqual(perf.events, ['cpu_cycles', 'instructions', 'cache_misses']);
  });
});

describe('events', () => {
  it('that the CPU lacks are left out and listed', () => {
    const calls = fakePerf({ refuse: (request) => (codeOf(request) === '0:6' ? PerfErrno.ENOENT : undefined) });
    const perf = open(ALONE, 'bus_cycles cpu_cycles cpu_cyclops', calls);
    assert.deepEqual(perf.events, ['cpu_cycles']);
    assert.deepEqual(
      perf.refused.map(({ event, unavailable }) => [event, unavailable]),
      [
        ['cpu_cyclops', '"cpu_cyclops": no such event'],
        ['bus_cycles', 'bus_cycles: this CPU has no such counter'],
      ],
    );
  });

  it('are unavailable when none is left, and leave nothing open', () => {
    const hardware = fakePerf({ refuse: ({ type }) => (type === 1 ? undefined : PerfErrno.ENOENT) });
    const result = openPerf(SHEPHERD, ['cpu_cycles', 'r1'], placeOf('intel-xeon'), hardware);
    assert.ok(isUnavailable(result));
    assert.match(result.unavailable, /cpu_cycles: this CPU has no such counter/);
    assert.equal(hardware.alive.size, 0);
    const none = openPerf(SHEPHERD, [], placeOf('intel-xeon'), fakePerf());
    assert.ok(isUnavailable(none));
    assert.equal(none.unavailable, 'no perf events are named');
  });

  it('of one code are opened once and reported under each name', () => {
    const calls = fakePerf();
    const perf = open(ALONE, 'cache_l1d cache_op_read cache_l1d cache_result_access', calls);
    assert.equal(perf.descriptors, 1);
    assert.deepEqual(
      perf.read().map(({ event }) => event),
      ['cache_l1d', 'cache_op_read', 'cache_result_access'],
    );
  });

  it('are closed when only the count of the process itself is refused', () => {
    const calls = fakePerf({
      refuse: ({ inherit, type, pid }) => (!inherit && pid !== 0 && type === 0 ? PerfErrno.EMFILE : undefined),
    });
    const perf = open(SHEPHERD, 'page_faults cpu_cycles', calls);
    assert.deepEqual(perf.events, ['page_faults']);
    assert.match(perf.refused[0]?.unavailable ?? '', /cpu_cycles: no file descriptors left/);
    assert.equal(calls.alive.size, perf.descriptors);
  });

  it('are left out and listed where there are no descriptors for them', () => {
    const place = { ...placeOf('intel-xeon'), proc: procWith({ limit: 9 }) };
    const perf = open(SHEPHERD, 'task_clock page_faults cpu_cycles', fakePerf(), place);
    assert.equal(perf.descriptors, 4);
    assert.deepEqual(perf.refused, [
      {
        event: 'cpu_cycles',
        unavailable: 'cpu_cycles: needs 2 descriptors more, of 4 that there may be',
        fix: 'raise the limit of open files, or name fewer events',
      },
    ]);
  });

  it('are all closed by close, which may be called twice', () => {
    const calls = fakePerf();
    const perf = open(SHEPHERD, 'task_clock cpu_cycles instructions', calls);
    assert.equal(calls.alive.size, perf.descriptors);
    const last = perf.read();
    perf.close();
    perf.close();
    assert.equal(calls.alive.size, 0);
    assert.deepEqual(perf.read(), last);
  });
});

describe('permission', () => {
  const userOnlyKernel = (): FakePerf =>
    fakePerf({ refuse: ({ userOnly }) => (userOnly ? undefined : PerfErrno.EACCES) });

  it('for user code alone leaves out what happens in the kernel, and a note says so', () => {
    const place = { ...placeOf('intel-xeon'), proc: procWith({ paranoid: '2' }) };
    const perf = open(ALONE, 'cpu_cycles context_switches page_faults', userOnlyKernel(), place);
    assert.equal(perf.userOnly, true);
    assert.deepEqual(perf.events, ['cpu_cycles', 'page_faults']);
    assert.match(perf.notes[0] ?? '', /what runs in the kernel is not counted/);
    assert.match(perf.refused[0]?.unavailable ?? '', /context_switches.*permission denied .*paranoid is 2/);
  });

  it('for nothing makes perf unavailable, with a cause and a fix', () => {
    const place = { ...placeOf('intel-xeon'), proc: procWith({ paranoid: '4' }) };
    const result = openPerf(SHEPHERD, ['cpu_cycles'], place, fakePerf({ refuse: () => PerfErrno.EACCES }));
    assert.ok(isUnavailable(result));
    assert.match(result.unavailable, /permission denied \(kernel.perf_event_paranoid is 4\)/);
    assert.match(result.fix ?? '', /run the hooks as root/);
  });
});

describe('hybrid CPUs', () => {
  it('count an event on both kinds of cores, as if they were one', () => {
    const ATOM = '0:a00000001';
    const calls = fakePerf({
      count: (request) => (codeOf(request) === ATOM ? count(1000, 10e9, 2e9) : count(9000, 10e9, 8e9)),
    });
    const perf = open(ALONE, 'instructions', calls, placeOf('intel-hybrid'));
    assert.deepEqual(only(perf), { event: 'instructions', value: 10000, scaledShare: 1 });
  });

  it('count an event on one kind of core where the other lacks it, and a note says so', () => {
    const calls = fakePerf({
      refuse: ({ type, config }) => (type === 3 && config >> 32n === 10n ? PerfErrno.ENOENT : undefined),
    });
    const perf = open(ALONE, 'llc_prefetches', calls, placeOf('intel-hybrid'));
    assert.deepEqual(perf.notes, ['llc_prefetches: counted on one kind of core only']);
  });
});

describe('probePerf', () => {
  it('says which of the configured events open here, and leaves nothing open', () => {
    const calls = fakePerf({ refuse: ({ type }) => (type === 4 ? PerfErrno.ENOENT : undefined) });
    const options = { events: ['page_faults', 'cpu_cycles'], raw: ['r1a2b'] };
    const probed = probePerf({ ...placeOf('intel-xeon'), options }, calls);
    assert.ok(!isUnavailable(probed));
    assert.deepEqual(probed.events, ['page_faults', 'cpu_cycles']);
    assert.deepEqual(
      probed.refused.map(({ event }) => event),
      ['r1a2b'],
    );
    assert.equal(calls.alive.size, 0);
  });
});
