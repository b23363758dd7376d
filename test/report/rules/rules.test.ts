import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { JobRecord } from '../../../src/record/record';
import type { Kind } from '../../../src/report/rules/facts';
import { growthOf } from '../../../src/report/rules/growth';
import { judge, type Classes } from '../../../src/report/rules/judge';
import { metricNames } from '../../../src/report/rules/metric-names';
import { renderRulesJson } from '../../../src/report/rules/rule-list';
import { parseRules } from '../../../src/report/rules/rule';
import { loadRules, type RuleSet } from '../../../src/report/rules/rule-set';
import { SHIPPED_RULES } from '../../../src/report/rules/shipped';
import { after, mpiHost, mpiMaster, mpiTask, openBracket, ordinary, provedBracket } from '../sample-records';
import { temporaryDirectory } from '../../support/temporary-directory';
import { accountOf } from '../../support/records';

const GIB = 1024 ** 3;

/** A job with memory far from both bounds, all slots busy for an hour, and no metrics. */
const usual: JobRecord = {
  ...ordinary,
  wallclock_seconds: 3600,
  cpu_seconds: 4 * 3400,
  peak_rss: openBracket(8 * GIB, null, null),
  peak_rss_swap: openBracket(8 * GIB, null, null),
  peak_process_vmem: openBracket(9 * GIB, null, null),
  metrics: {},
  series: { start: after(0), step_seconds: 30, rss_bytes: Array.from({ length: 120 }, () => 8 * GIB), others: {} },
};

const category = (text: string): JobRecord['grid_engine'] =>
  accountOf({ wallclock_seconds: 3600, cpu_seconds: 13_600, category: text });

const withMetrics = (metrics: JobRecord['metrics']): JobRecord => ({ ...usual, metrics });
const idleGpu = { gpu_held: 1, gpu_held_time_seconds: 3600 };

/** Metrics of a job on a busy host: so many threads waited for a CPU all the time. */
const waitingFor = (threads: number): JobRecord['metrics'] => ({ taskstats_cpu_delay_seconds: threads * 3600 });

interface Example {
  readonly matching: JobRecord;
  readonly other: JobRecord;
  readonly unknown: JobRecord;
  readonly kind?: Kind;
  readonly evidence: string;
  readonly cost: string;
}

const unmeasured: JobRecord = { ...usual, peak_rss: null, peak_rss_swap: null, peak_process_vmem: null };
const noCpu: JobRecord = { ...usual, cpu_seconds: null };
const short: JobRecord = { ...usual, wallclock_seconds: 20 };

const EXAMPLES: Readonly<Record<string, Example>> = {
  'memory-close': {
    matching: { ...usual, peak_rss: openBracket(15 * GIB, null, null) },
    other: usual,
    unknown: unmeasured,
    evidence: 'memory was close to its limit: 15.0 GiB of 16.0 GiB (94 %)',
    cost: '',
  },
  swapping: {
    matching: {
      ...usual,
      metrics: { process_swap_peak_bytes: GIB, taskstats_swap_in_delay_seconds: 720 },
    },
    other: usual,
    unknown: unmeasured,
    evidence: 'up to 1.00 GiB of its memory was swapped out; at most 8.00 GiB was in RAM',
    cost: '0.2 slot·h',
  },
  leak: {
    matching: {
      ...usual,
      series: {
        start: after(0),
        step_seconds: 30,
        others: {},
        rss_bytes: Array.from({ length: 120 }, (_, i) => ((i + 1) * GIB) / 15),
      },
    },
    other: usual,
    unknown: { ...usual, series: null },
    evidence: 'memory grew steadily, by 7.00 GiB in 1:00:00 up to 8.00 GiB',
    cost: '3.5 GiB·h',
  },
  'gpu-idle': {
    matching: withMetrics({ ...idleGpu, gpu_idle_seconds: 2700 }),
    other: withMetrics({ ...idleGpu, gpu_idle_seconds: 60 }),
    unknown: usual,
    evidence: 'GPUs held: 1, for 1:00:00; idle for 0:45:00 of that time',
    cost: '3.0 slot·h',
  },
  oversubscribed: {
    matching: { ...usual, cpu_seconds: 6 * 3600, metrics: waitingFor(2) },
    other: { ...usual, cpu_seconds: 3 * 3600, metrics: waitingFor(1) },
    unknown: noCpu,
    evidence: '8 threads ran or waited for a CPU on average; slots granted: 4',
    cost: '2.0 slot·h',
  },
  serial: {
    matching: { ...usual, cpu_seconds: 3600 },
    other: usual,
    unknown: noCpu,
    evidence: 'used one slot of 4 (1 busy on average)',
    cost: '3.0 slot·h',
  },
  'idle-cores': {
    matching: { ...usual, cpu_seconds: 900 },
    other: { ...usual, cpu_seconds: 3600 },
    unknown: noCpu,
    evidence: 'slots kept busy: 0.250 of 4 (6.3 %)',
    cost: '3.8 slot·h',
  },
  'memory-far-below': {
    matching: { ...usual, peak_process_vmem: openBracket(GIB, null, null), peak_rss: null, peak_rss_swap: null },
    other: usual,
    unknown: unmeasured,
    evidence: 'used 1.00 GiB of 16.0 GiB (6.3 %)',
    cost: '15.0 GiB·h',
  },
  'io-bound': {
    matching: { ...usual, cpu_seconds: 300, metrics: { taskstats_block_io_delay_seconds: 3000 } },
    other: { ...usual, metrics: { taskstats_block_io_delay_seconds: 3000 } },
    unknown: { ...usual, cpu_seconds: 300, metrics: { taskstats_block_io_delay_seconds: 0 } },
    evidence: 'waited 0:50:00 for storage and computed 0:05:00',
    cost: '0.8 slot·h',
  },
  swarm: {
    matching: short,
    other: usual,
    unknown: short,
    kind: { runs: 500, seconds: 10_000 },
    evidence: 'one of 500 runs of its kind, 20 s each on average',
    cost: '0.0 slot·h',
  },
  'h-rt-too-long': {
    matching: { ...usual, grid_engine: category('-l h_rt=86400') },
    other: { ...usual, grid_engine: category('-l h_rt=5400') },
    unknown: usual,
    evidence: 'ran 1:00:00 of 1d 0h requested (h_rt)',
    cost: '92.0 slot·h',
  },
};

function shippedRules(): RuleSet {
  const parsed = parseRules(SHIPPED_RULES, metricNames());
  assert.ok(parsed.ok, parsed.ok ? '' : parsed.error.join('\n'));
  return { rules: parsed.value.rules, version: 'v', problem: null };
}

const foundNames = ({ found }: Pick<Classes, 'found'>): readonly string[] => found.map((finding) => finding.class);

function problemsOf(text: string): readonly string[] {
  const parsed = parseRules(text, ['gpu_held', 'gpu_idle_seconds']);
  assert.ok(!parsed.ok, text);
  return parsed.error;
}

const ruleText = (line: string): string => `[mine]\nseverity = "low"\nevidence = "x"\nwhen = "slots > 1"\n${line}\n`;

describe('the shipped rules', () => {
  const rules = shippedRules();

  it('have one example each', () => {
    assert.deepEqual(rules.rules.map(({ name }) => name).sort(), Object.keys(EXAMPLES).sort());
  });

  for (const [name, { matching, other, unknown, kind = null, evidence, cost }] of Object.entries(EXAMPLES))
    it(`${name} is found in one job, not in another, and unknown in a third`, () => {
      const found = judge(rules, [matching], kind).found.find((one) => one.class === name);
      assert.ok(found, `not found: ${foundNames(judge(rules, [matching], kind)).join()}`);
      assert.equal(found.evidence, evidence);
      assert.notEqual(found.hint, '');
      const { cost_gib_hours: gib, cost_slot_hours: slots } = found;
      const slotHours = slots === null ? '' : `${slots.toFixed(1)} slot·h`;
      assert.equal(gib === null ? slotHours : `${gib.toFixed(1)} GiB·h`, cost);
      const without = judge(rules, [other], null);
      assert.ok(!foundNames(without).includes(name), 'the other has it too');
      assert.ok(!without.unknown.includes(name), 'the other is unknown');
      const neither = judge(rules, [unknown], null);
      assert.ok(!foundNames(neither).includes(name));
      assert.ok(neither.unknown.includes(name), 'it is known');
    });

  it('judge by the threads that want a CPU, also on a busy host', () => {
    for (const [cpu, waiting, expected] of [
      [8, 0, ['oversubscribed']],
      [2, 6, ['oversubscribed']],
      [1, 0, ['serial']],
      [0.2, 0.8, ['serial']],
      [0.3, 0.2, ['idle-cores']],
      [0.5, 3.5, []],
    ] as const) {
      const { found } = judge(rules, [{ ...usual, cpu_seconds: cpu * 3600, metrics: waitingFor(waiting) }], null);
      assert.deepEqual(foundNames({ found }), expected, `${cpu} ran and ${waiting} waited`);
    }
  });

  it('do not call a slot idle while the job was suspended', () => {
    const suspended = { ...usual, cpu_seconds: 4 * 850, suspended_seconds: 2700 };
    assert.deepEqual(foundNames(judge(rules, [suspended], null)), []);
    assert.deepEqual(foundNames(judge(rules, [{ ...suspended, suspended_seconds: 0 }], null)), ['serial']);
  });

  it('find swapping by any figure that shows swap', () => {
    for (const record of [
      { ...usual, peak_rss_swap: openBracket(9 * GIB, null, null) },
      withMetrics({ cgroup_swap_peak_bytes: GIB }),
      withMetrics({ cgroup_swap_peak_bytes: 0, process_swap_peak_bytes: GIB }),
    ])
      assert.deepEqual(foundNames(judge(rules, [record], null)), ['swapping']);
  });

  it("judge a job without samples by Grid Engine's figure, and mark it with ~", () => {
    const line: JobRecord = { ...unmeasured, pe: null, slots: 1, trust: 'accounting', status: 'unsampled' };
    const account = category('');
    const counted = { ...line, grid_engine: account === null ? null : { ...account, maxvmem_bytes: GIB } };
    const { found } = judge(rules, [counted], null);
    assert.equal(
      found.find((one) => one.class === 'memory-far-below')?.evidence,
      'used ~1.00 GiB of 16.0 GiB (~6.3 %)',
    );
  });

  it('judge a parallel job by its CPU time over all slots and the memory of its fullest host', () => {
    const idle = (record: JobRecord): JobRecord => ({ ...record, cpu_seconds: 0 });
    const parts = [mpiMaster(4), ...[1, 2, 3, 4].map((number) => mpiTask(number))];
    const busy = judge(rules, parts, null);
    assert.deepEqual(foundNames(busy), ['memory-far-below']);
    assert.ok(!busy.unknown.includes('idle-cores') && !busy.unknown.includes('memory-close'));
    const { found } = judge(rules, parts.map(idle), null);
    assert.deepEqual(
      found.map(({ evidence }) => evidence),
      ['slots kept busy: 0 of 64 (0 %)', 'used 5.03 GiB of 32.0 GiB (16 %)'],
    );
    const limit = mpiMaster(4).h_vmem?.limit_bytes ?? 0;
    const full = provedBracket(0.95 * limit, 0.95 * limit, null, null);
    const close = parts.map((part) =>
      part.host === mpiHost(3) ? { ...part, peak_rss: full, peak_rss_swap: full } : part,
    );
    assert.equal(
      judge(rules, close, null).found[0]?.evidence,
      'memory was close to its limit: 30.4 GiB of 32.0 GiB (95 %)',
    );
    const near = provedBracket(0.85 * limit, 0.95 * limit, null, null);
    const perhaps = parts.map((part) =>
      part.host === mpiHost(3) ? { ...part, peak_rss: near, peak_rss_swap: near } : part,
    );
    assert.ok(!foundNames(judge(rules, perhaps, null)).includes('memory-close'), 'its upper end alone is near');
    assert.ok(judge(rules, parts.slice(0, 3), null).unknown.includes('memory-far-below'), 'two hosts are not known');
  });
});

describe('a rules file', () => {
  it('has each error reported with its place, and with the word that was probably meant', () => {
    assert.match(problemsOf('[mine').join(), /^not valid TOML \(line 1, column \d+: [^\n]*\)$/);
    assert.deepEqual(problemsOf(ruleText('cost = "slots"')), [
      '[mine] cost, character 1: is neither memory times time nor slots times time',
    ]);
    assert.deepEqual(problemsOf(ruleText('hind = "x"')), ['[mine] hind: is not a key; did you mean "hint"?']);
    assert.deepEqual(problemsOf(ruleText('requires = ["gpu_hold"]')), [
      '[mine] requires: "gpu_hold" is not a field or metric; did you mean "gpu_held"?',
    ]);
    assert.deepEqual(problemsOf(ruleText('hint = "{wallclock_secods} {slots +}"')), [
      '[mine] hint, character 2: "wallclock_secods" is not a field or metric; did you mean "wallclock_seconds"?',
      '[mine] hint, character 28: ends where a value should be',
    ]);
    assert.deepEqual(
      problemsOf('[mine]\nseverity = "low"\nevidence = "x"\nwhen = "wallclock_seconds > 4GiB and x"\n'),
      ['[mine] when, character 19: ">" of seconds and bytes'],
    );
    assert.deepEqual(problemsOf('[mine]\nseverity = "bad"\n'), ['[mine] severity is none of high, medium, low, off']);
    assert.deepEqual(problemsOf('[mine]\nseverity = "low"\nevidence = "x"\n'), ['[mine] when: is missing']);
    assert.deepEqual(problemsOf('mine = 3\n'), ['[mine] the rule is not an object']);
    assert.deepEqual(problemsOf('["Mine X"]\nseverity = "off"\n'), [
      '[Mine X] name: is not small letters, digits and "-", at most 40',
    ]);
  });

  const directory = temporaryDirectory();

  it('of the site replaces shipped rules of the same name, or switches them off', async () => {
    const path = join(directory, 'rules.toml');
    writeFileSync(
      path,
      '[leak]\nseverity = "off"\n[serial]\nseverity = "high"\nwhen = "host_slots = 4 and like(owner, \'b*\')"\nevidence = "{owner} in {queue}"\n',
    );
    const shipped = await loadRules('');
    const own = await loadRules(path);
    const { rules, problem, version } = own;
    assert.equal(problem, null);
    assert.notEqual(version, shipped.version);
    assert.equal((await loadRules(path)).version, version);
    assert.ok(!rules.some(({ name }) => name === 'leak'));
    assert.equal(rules.length, shipped.rules.length - 1);
    const finding = judge(own, [usual], null).found.find((one) => one.class === 'serial');
    assert.equal(finding?.evidence, 'bob in all.q');
    assert.equal(finding.severity, 'high');
    assert.equal(finding.cost_slot_hours, null);
  });

  it('with an error is ignored, and the error is reported', async () => {
    const path = join(directory, 'wrong.toml');
    writeFileSync(path, ruleText('cost = "slots"'));
    const shipped = await loadRules('');
    for (const [asked, problem] of [
      [path, /wrong\.toml: \[mine\] cost, character 1: .*the site's rules are left out \("qmemacct rules --check/],
      [join(directory, 'none.toml'), /none\.toml: can't be read .*the site's rules are left out/],
    ] as const) {
      const set = await loadRules(asked);
      assert.match(set.problem ?? '', problem);
      assert.equal(renderRulesJson(set), renderRulesJson(shipped));
    }
  });
});

describe('memory growth', () => {
  const ofPoints = (points: readonly number[]) =>
    growthOf({ start: after(0), step_seconds: 1, rss_bytes: [...points], others: {} });

  it('is calculated from 16 points on', () => {
    assert.equal(growthOf(null), null);
    assert.equal(ofPoints(Array.from({ length: 15 }, (_, index) => index)), null);
    assert.deepEqual(ofPoints(Array.from({ length: 16 }, (_, index) => index * 10)), { bytes: 140, rising: 7 });
  });

  it('is not steady in a job that loads data and then computes, or that goes up and down', () => {
    assert.equal(ofPoints(Array.from({ length: 120 }, (_, index) => Math.min(index, 60)))?.rising, 4);
    const wave = ofPoints(Array.from({ length: 120 }, (_, index) => 50 + 40 * Math.sin(index / 6)));
    assert.ok(wave !== null && wave.rising < 7);
  });

  it('is steady in a job that frees some memory now and then', () => {
    assert.equal(ofPoints(Array.from({ length: 120 }, (_, index) => index + 5 * Math.sin(index)))?.rising, 7);
  });
});
