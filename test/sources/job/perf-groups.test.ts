import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { PerfErrno } from '../../../src/native/perf-error';
import { isUnavailable } from '../../../src/sources/source';
import { resolveEvent, type ResolvedEvent } from '../../../src/sources/job/perf-event-names';
import { planGroups, splitGroups, type Group } from '../../../src/sources/job/perf-groups';
import { codeOf, fakePerf, placeOf, type Machine } from './perf-fixtures';

function eventsOf(names: string, machine: Machine): readonly ResolvedEvent[] {
  return names
    .split(' ')
    .map((name) => resolveEvent(name, placeOf(machine)))
    .filter((event): event is ResolvedEvent => !isUnavailable(event));
}

/** Groups by the names of their events. */
const named = (groups: readonly Group[], events: readonly ResolvedEvent[]): readonly string[] =>
  groups.map((group) => group.map(({ event }) => events[event]?.name).join(' '));

const plan = (names: string, machine: Machine = 'intel-xeon'): readonly string[] => {
  const events = eventsOf(names, machine);
  return named(planGroups(events), events);
};

const DEFAULT = 'task_clock page_faults cpu_cycles instructions cache_references cache_misses branch_misses';

describe('planGroups', () => {
  it('keeps the events of ratios together, the most useful first', () => {
    assert.deepEqual(plan(DEFAULT), [
      'cpu_cycles instructions cache_misses cache_references branch_misses',
      'task_clock',
      'page_faults',
    ]);
  });

  it('puts events beyond the fifth of a group into groups of their own', () => {
    assert.deepEqual(plan(`${DEFAULT} branch_instructions llc_misses r1a2b`).slice(0, 3), [
      'cpu_cycles instructions cache_misses cache_references branch_misses',
      'branch_instructions',
      'llc_misses',
    ]);
  });

  it('makes a group for each kind of core', () => {
    assert.deepEqual(plan('cpu_cycles instructions task_clock', 'intel-hybrid'), [
      'cpu_cycles instructions',
      'cpu_cycles instructions',
      'task_clock',
    ]);
  });
});

describe('splitGroups', () => {
  const split = (calls: ReturnType<typeof fakePerf>, names = DEFAULT): readonly [readonly string[], boolean] => {
    const events = eventsOf(names, 'intel-xeon');
    const result = splitGroups(planGroups(events), false, calls);
    assert.equal(calls.alive.size, 0, 'descriptors of the trial left open');
    return [named(result.groups, events).filter((group) => !/task_clock|page_faults/.test(group)), result.split];
  };
  const whole = 'cpu_cycles instructions cache_misses cache_references branch_misses';

  it('leaves a group that the CPU can count', () => {
    assert.deepEqual(split(fakePerf({ counters: 6 })), [[whole], false]);
  });

  it('splits off the last events of a group that the kernel refuses', () => {
    assert.deepEqual(split(fakePerf({ counters: 3 })), [
      ['cpu_cycles instructions cache_misses', 'cache_references', 'branch_misses'],
      true,
    ]);
  });

  it('notices that somebody (the NMI watchdog) holds a counter, which the kernel does not report', () => {
    assert.deepEqual(split(fakePerf({ counters: 5, held: 1 })), [
      ['cpu_cycles instructions cache_misses cache_references', 'branch_misses'],
      true,
    ]);
  });

  it('makes a group for each of five events where no counter is free', () => {
    assert.deepEqual(split(fakePerf({ counters: 5, held: 5 }))[0].length, 5);
  });

  it('keeps the other events together where the CPU lacks one', () => {
    const calls = fakePerf({ refuse: (request) => (codeOf(request) === '0:2' ? PerfErrno.ENOENT : undefined) });
    assert.deepEqual(split(calls), [['cpu_cycles instructions cache_misses branch_misses', 'cache_references'], false]);
  });

  it('does not try the groups of a hybrid CPU, where the trial might run on the other kind of core', () => {
    const calls = fakePerf({ counters: 1 });
    const groups = planGroups(eventsOf('cpu_cycles instructions', 'intel-hybrid'));
    assert.deepEqual(splitGroups(groups, false, calls), { groups, split: false });
  });
});
