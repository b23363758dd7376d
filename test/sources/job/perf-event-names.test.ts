import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isUnavailable } from '../../../src/sources/source';
import { NAMED_EVENTS, resolveEvent, type ResolvedEvent } from '../../../src/sources/job/perf-event-names';
import { placeOf, type Machine } from './perf-fixtures';

/** The names that Colmet's perfhw backend takes. */
const COLMET = (
  'cpu_cycles instructions cache_references cache_misses branch_instructions branch_misses bus_cycles ref_cpu_cycles ' +
  'cache_l1d cache_ll cache_dtlb cache_itlb cache_bpu cache_node cache_op_read cache_op_prefetch cache_result_access ' +
  'cpu_clock task_clock page_faults context_switches cpu_migrations page_faults_min page_faults_maj ' +
  'alignment_faults emulation_faults dummy bpf_output'
).split(' ');

function resolved(text: string, machine: Machine = 'intel-xeon'): ResolvedEvent {
  const event = resolveEvent(text, placeOf(machine));
  assert.ok(!isUnavailable(event), isUnavailable(event) ? event.unavailable : '');
  return event;
}

const codes = (text: string, machine?: Machine): readonly string[] =>
  resolved(text, machine).encodings.map(({ type, config }) => `${type}:${config.toString(16)}`);

const refusal = (text: string, machine: Machine = 'intel-xeon'): string => {
  const event = resolveEvent(text, placeOf(machine));
  assert.ok(isUnavailable(event), text);
  return event.unavailable;
};

describe('resolveEvent', () => {
  it('resolves every name that Colmet takes', () => {
    assert.equal(COLMET.length, 28);
    for (const name of COLMET) assert.equal(resolved(name).name, name);
    assert.deepEqual(
      NAMED_EVENTS.slice(0, 28).map(({ name }) => name),
      COLMET,
    );
    assert.equal(new Set(NAMED_EVENTS.map(({ name }) => name)).size, NAMED_EVENTS.length);
  });

  it('gives the codes of linux/perf_event.h', () => {
    assert.deepEqual(codes('instructions'), ['0:1']);
    assert.deepEqual(codes('ref_cpu_cycles'), ['0:9']);
    assert.deepEqual(codes('stalled_cycles_backend'), ['0:8']);
    assert.deepEqual(codes('context_switches'), ['1:3']);
    assert.deepEqual(codes('bpf_output'), ['1:a']);
    assert.deepEqual(codes('cache_node'), ['3:6']);
    assert.deepEqual(codes('l1d_read_misses'), ['3:10000']);
    assert.deepEqual(codes('llc_misses'), ['3:10002']);
    assert.deepEqual(codes('llc_prefetches'), ['3:202']);
    assert.deepEqual(codes('dtlb_misses'), ['3:10003']);
  });

  it('keeps what Colmet counted under cache_op_read, cache_result_access and cache_op_prefetch', () => {
    assert.deepEqual(codes('cache_op_read'), codes('cache_l1d'));
    assert.deepEqual(codes('cache_result_access'), codes('cache_l1d'));
    assert.deepEqual(codes('cache_op_prefetch'), codes('cache_ll'));
  });

  it('accepts other names in use', () => {
    assert.equal(resolved('cycles').name, 'cpu_cycles');
    assert.equal(resolved('page-faults').name, 'page_faults');
    assert.equal(resolved(' Branch-Misses ').name, 'branch_misses');
    assert.equal(resolved('cs').name, 'context_switches');
  });

  it('accepts raw codes and the terms of a PMU', () => {
    assert.deepEqual(codes('r1a2b'), ['4:1a2b']);
    assert.deepEqual(codes('cpu/event=0x3c,umask=0x1/'), ['4:13c']);
    assert.deepEqual(codes('cpu/cache-misses/', 'amd-zen3'), ['4:964']);
    assert.deepEqual(codes('armv8_pmuv3_0/event=0x11/', 'arm-neoverse'), ['8:11']);
    assert.deepEqual(codes('msr/tsc/'), ['9:0']);
  });

  it('counts on every kind of core of a hybrid CPU', () => {
    assert.deepEqual(codes('cpu_cycles', 'intel-hybrid'), ['0:a00000000', '0:400000000']);
    assert.deepEqual(codes('l1d_read_misses', 'intel-hybrid'), ['3:a00010000', '3:400010000']);
    assert.deepEqual(codes('r3c', 'intel-hybrid'), ['10:3c', '4:3c']);
    assert.deepEqual(codes('task_clock', 'intel-hybrid'), ['1:1']);
    assert.deepEqual(codes('instructions', 'arm-big-little'), ['0:800000001', '0:900000001']);
    const [atom, core] = resolved('cpu_cycles', 'intel-hybrid').encodings;
    assert.equal(atom?.cpus?.length, 8);
    assert.equal(core?.cpus?.length, 16);
  });

  it('says why it refuses a name', () => {
    assert.match(refusal('cpu_cyclops'), /"cpu_cyclops": no such event/);
    assert.match(refusal('constructor'), /no such event/);
    assert.match(refusal('r12345678901234567'), /no such event/);
    assert.match(refusal('cpu_core/event=1/'), /no PMU "cpu_core"/);
    assert.match(refusal('uncore_imc_0/cas_count_read/'), /counts for the whole node, not for a job/);
    assert.match(refusal('power/energy-pkg/', 'intel-hybrid'), /counts for the whole node/);
    assert.match(refusal('\u001b[31m/x/'), /no PMU|no such event/);
    assert.match(refusal('x'.repeat(10000)), /^"x{80}": no such event$/);
  });
});
