import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { killedByMemory } from '../../../src/record/cause';
import { coverageReason } from '../../../src/record/coverage';
import { ranWell } from '../../../src/record/job-end';
import { categoryRequests, requestedSeconds } from '../../../src/gridengine/category-requests';
import { DIALECTS, type Dialect } from '../../../src/gridengine/dialect';
import type { Cause, Standing } from '../../../src/report/why/hypothesis';
import { needsOf } from '../../../src/report/job/job-whole';
import { nextTime } from '../../../src/report/advice/next-time';
import { whyEnded, type Why } from '../../../src/report/why/why';
import type { Bracket, GridEngineAccount, JobRecord } from '../../../src/record/record';
import { execdLimit } from '../../../src/record/request';
import { arbitraryRecord } from '../../accounting/arbitrary-record';
import { accountOf } from '../../support/records';
import { tenMinutesOf, modest } from '../bad-ends';
import { after, mpiMaster, mpiTask, openBracket, provedBracket } from '../sample-records';

const GIB = 1024 ** 3;

const bySignal = (signal: number): Partial<JobRecord> => ({ signal, exit_status: 128 + signal });
const KILLED = bySignal(9);
const ENFORCED = { ...KILLED, failed: 37 };
const AFTER_SIGNAL = { ...KILLED, failed: 100 };
const EXIT_STATUS_OF_SHELL = { signal: 0, exit_status: 137 };
const held = (bytes: number, upper: number | null = null): Partial<JobRecord> => {
  const bracket = upper === null ? openBracket(bytes, null, null) : provedBracket(bytes, upper, null, null);
  return { peak_rss: bracket, peak_rss_swap: bracket };
};
const space = (bytes: number): Partial<JobRecord> => ({ peak_process_vmem: openBracket(bytes, null, 'java') });
const asked = (category: string, changes: Partial<GridEngineAccount> = {}): Partial<JobRecord> => ({
  grid_engine: tenMinutesOf({ category, ...changes }),
});
const TWO_GIB = { request_bytes: 2 * GIB, limit_bytes: 2 * GIB, per: 'slot' } as const;
const RESIDENT: Partial<JobRecord> = { requests: { h_rss: TWO_GIB, s_rss: TWO_GIB } };
/** Its host has two slots; its largest process filled nearly the memory of one. */
const NARROW_TASK: Partial<JobRecord> = {
  pe_task_id: '1.ge1',
  h_vmem: { request_bytes: 4 * GIB, limit_bytes: 8 * GIB, per: 'slot' },
  ...space(3.9 * GIB),
};

const why = (changes: Partial<JobRecord>, dialect?: Dialect): Why => {
  const result = whyEnded([{ ...modest, ...changes }], undefined, dialect);
  assert.ok(result !== null);
  return result;
};
const standing = (result: Why, cause: Cause): Standing | undefined =>
  result.hypotheses.find((one) => one.cause === cause)?.standing;

/** 4 GiB requested once for a job of two slots. */
const ONCE: Partial<JobRecord> = {
  host_slots: 2,
  h_vmem: { request_bytes: 4 * GIB, limit_bytes: 4 * GIB, per: 'job' },
};

type Row = readonly [Cause, Standing, string, Partial<JobRecord>, Dialect?];

const TABLE: readonly Row[] = [
  ['h_vmem', 'consistent', 'held more than the limit', { ...KILLED, ...held(4.1 * GIB) }],
  ['h_vmem', 'consistent', 'held nearly the limit', { ...KILLED, ...held(3.8 * GIB) }],
  ['h_vmem', 'consistent', "execd's count above it", { ...ENFORCED, ...asked('', { maxvmem_bytes: 4.2 * GIB }) }],
  ['h_vmem', 'contradicted', "execd's count below it", { ...ENFORCED, ...asked('', { maxvmem_bytes: 3.9 * GIB }) }],
  ['h_vmem', 'contradicted', 'proved to have held less', KILLED, 'sge8.1.9'],
  ['h_vmem', 'contradicted', 'both sums proved below', KILLED],
  ['h_vmem', 'undecidable', 'an open end far below', { ...KILLED, ...held(GIB) }],
  ['h_vmem', 'undecidable', 'address spaces not known', { ...KILLED, peak_vmem: null }],
  [
    'h_vmem',
    'contradicted',
    'below the request times the slots',
    { ...ENFORCED, ...ONCE, ...held(7 * GIB, 7 * GIB) },
    'sge8.1.9',
  ],
  ['h_vmem', 'consistent', 'the request times the slots', { ...ENFORCED, ...ONCE, ...held(8 * GIB) }],
  [
    'refused-memory',
    'consistent',
    'at the request, whatever the slots',
    { exit_status: 1, ...ONCE, ...space(3.9 * GIB) },
  ],
  ['h_vmem', 'contradicted', 'no limit', { ...ENFORCED, h_vmem: null }],
  ['h_vmem', 'undecidable', 'a limit nobody knows', { ...ENFORCED, h_vmem: null, trust: 'accounting' }],
  ['h_vmem', 'undecidable', 'nothing measured', { ...KILLED, peak_rss: null, peak_rss_swap: null }],
  ['h_vmem', 'contradicted', 'the shell lived on', { ...EXIT_STATUS_OF_SHELL, ...held(4.1 * GIB) }],
  ['h_vmem', 'contradicted', 'another signal', { ...bySignal(11), ...held(4.1 * GIB) }],
  ['h_vmem', 'contradicted', 'failed 100 where 37 is told', { ...AFTER_SIGNAL, ...held(3.9 * GIB) }, 'sge8.1.9'],
  ['h_vmem', 'contradicted', 'failed 100 in the fork', { ...AFTER_SIGNAL, ...held(3.9 * GIB) }, 'daimh'],
  [
    'h_vmem',
    'consistent',
    'failed 100 where 37 is not told',
    { ...AFTER_SIGNAL, peak_vmem: openBracket(4 * GIB, null, null) },
    'sge6.2',
  ],
  [
    'h_vmem',
    'consistent',
    '6.2 adds up address spaces',
    { ...KILLED, peak_vmem: openBracket(4.2 * GIB, null, null) },
    'ogs',
  ],
  [
    'h_vmem',
    'contradicted',
    '8.1.9 does not',
    { ...KILLED, peak_vmem: openBracket(4.2 * GIB, null, null) },
    'sge8.1.9',
  ],
  [
    'h_vmem',
    'consistent',
    'Univa adds up address spaces',
    { ...KILLED, peak_vmem: openBracket(4.2 * GIB, null, null) },
    'univa',
  ],
  ['h_vmem', 'contradicted', 'OCS: little at present', { ...KILLED, ...held(4.2 * GIB) }, 'ocs'],

  [
    'h_vmem',
    'consistent',
    'OCS without systemd adds up address spaces',
    { ...KILLED, peak_vmem: openBracket(4.2 * GIB, null, null), metrics: { cgroup_memory_limit_bytes: 64 * GIB } },
    'ocs',
  ],
  [
    'h_vmem',
    'contradicted',
    'OCS with systemd leaves it to the kernel',
    {
      ...KILLED,
      peak_vmem: openBracket(4.2 * GIB, null, null),
      metrics: { cgroup_memory_limit_bytes: 4 * GIB - 4096 },
    },
    'ocs',
  ],

  [
    'h_vmem',
    'contradicted',
    'left to systemd, whose limit is h_rss',
    { ...KILLED, ...held(4.1 * GIB), ...RESIDENT, metrics: { cgroup_memory_limit_bytes: 2 * GIB } },
    'ocs',
  ],

  ['refused-memory', 'consistent', 'abort at the limit', { ...bySignal(6), ...space(3.9 * GIB) }],
  ['refused-memory', 'consistent', 'a trap (V8) at the limit', { ...bySignal(5), ...space(3.9 * GIB) }],
  ['refused-memory', 'consistent', 'an error status at the limit', { exit_status: 1, ...space(3.9 * GIB) }],
  [
    'refused-memory',
    'consistent',
    'at s_vmem',
    {
      exit_status: 1,
      ...space(1.9 * GIB),
      requests: { s_vmem: { request_bytes: 2 * GIB, limit_bytes: 2 * GIB, per: 'slot' } },
    },
  ],
  ['refused-memory', 'consistent', 'in a task at the limit of one slot', { ...NARROW_TASK, exit_status: 1 }, 'ocs'],
  ['refused-memory', 'undecidable', 'in a task far below', { ...NARROW_TASK, exit_status: 1 }, 'sge8.1.9'],
  ['refused-memory', 'undecidable', 'far below: one large request', { exit_status: 1 }],
  ['refused-memory', 'undecidable', 'address space not known', { exit_status: 1, peak_process_vmem: null }],
  [
    'refused-memory',
    'undecidable',
    'far below h_data',
    { exit_status: 1, h_vmem: null, requests: { h_data: TWO_GIB } },
  ],
  [
    'refused-memory',
    'undecidable',
    'two processes that reach h_data only together',
    { exit_status: 1, ...held(1.9 * GIB), ...space(1.2 * GIB), requests: { h_data: TWO_GIB } },
  ],
  ['refused-memory', 'contradicted', 'no limit', { exit_status: 1, h_vmem: null }],
  ['refused-memory', 'contradicted', 'a kill is no refusal', { ...KILLED, ...space(3.9 * GIB) }],

  [
    's_vmem',
    'consistent',
    'SIGXCPU near it',
    {
      ...bySignal(24),
      ...held(1.9 * GIB),
      requests: { s_vmem: { request_bytes: 2 * GIB, limit_bytes: 2 * GIB, per: 'slot' } },
    },
  ],
  [
    's_vmem',
    'contradicted',
    'SIGXCPU far below',
    { ...bySignal(24), requests: { s_vmem: { request_bytes: 2 * GIB, limit_bytes: 2 * GIB, per: 'slot' } } },
    'sge8.1.9',
  ],
  ['s_vmem', 'contradicted', 'no s_vmem', bySignal(24)],
  ['s_vmem', 'undecidable', 'nobody knows of one', { ...bySignal(24), trust: 'accounting', h_vmem: null }],

  ['resident-memory', 'consistent', 'held more than h_rss', { ...KILLED, ...held(2.1 * GIB), ...RESIDENT }, 'ocs'],
  ['resident-memory', 'consistent', 'SIGXCPU at s_rss', { ...bySignal(24), ...held(1.9 * GIB), ...RESIDENT }, 'ocs'],
  [
    'resident-memory',
    'consistent',
    'nobody sampled it, and Grid Engine counted as much',
    { ...KILLED, peak_rss: null, ...asked('-l h_rss=2G', { maxrss_bytes: 2.1 * GIB }) },
    'ocs',
  ],
  ['resident-memory', 'undecidable', 'an open end far below', { ...KILLED, ...held(GIB), ...RESIDENT }, 'ocs'],
  ['resident-memory', 'undecidable', 'nothing is known', { ...KILLED, peak_rss: null, ...RESIDENT }, 'ocs'],
  ['resident-memory', 'contradicted', 'held less', { ...KILLED, ...held(GIB, 1.2 * GIB), ...RESIDENT }, 'ocs'],
  ['resident-memory', 'contradicted', 'no h_rss', { ...KILLED, ...held(2.1 * GIB) }, 'ocs'],
  [
    'resident-memory',
    'contradicted',
    'the kernel ignores it here',
    { ...KILLED, ...held(2.1 * GIB), ...RESIDENT },
    'sge8.1.9',
  ],

  ['h_rt', 'consistent', 'ran as long as allowed', { ...ENFORCED, ...asked('-l h_rt=600') }],
  ['h_rt', 'consistent', 'without the code', { ...KILLED, ...asked('-l h_rt=0:10:0') }],
  ['h_rt', 'contradicted', 'ran shorter', { ...ENFORCED, ...asked('-l h_rt=3600') }],
  ['h_rt', 'contradicted', 'the shell lived on', { ...EXIT_STATUS_OF_SHELL, ...asked('-l h_rt=600') }],
  ['h_rt', 'contradicted', '8.1.9 says 100', { ...AFTER_SIGNAL, ...asked('-l h_rt=600') }, 'sge8.1.9'],
  ['h_rt', 'undecidable', 'no request is told', ENFORCED],
  ['h_rt', 'undecidable', 'the queue may have one', { ...ENFORCED, ...asked('-l h_vmem=4G') }],
  ['s_rt', 'consistent', 'SIGUSR1 at the time', { ...bySignal(10), ...asked('-l s_rt=600') }],
  ['s_rt', 'contradicted', 'SIGUSR1 before it', { ...bySignal(10), ...asked('-l s_rt=6000') }],
  ['s_rt', 'undecidable', 'no request is told', bySignal(10)],

  ['cpu-time', 'consistent', 'SIGKILL at h_cpu', { ...AFTER_SIGNAL, ...asked('-l h_cpu=500') }],
  ['cpu-time', 'consistent', 'SIGXCPU at s_cpu', { ...bySignal(24), ...asked('-l s_cpu=500') }],
  ['cpu-time', 'contradicted', 'used less', { ...ENFORCED, ...asked('-l h_cpu=5000') }],
  ['cpu-time', 'undecidable', 'no request is told', ENFORCED],

  [
    'cgroup-out-of-memory',
    'consistent',
    'the kernel counts it',
    { ...KILLED, metrics: { cgroup_oom_kills: 1, cgroup_oom_events: 1 } },
  ],
  ['cgroup-out-of-memory', 'consistent', 'of a child', { exit_status: 1, metrics: { cgroup_oom_kills: 1 } }],
  ['cgroup-out-of-memory', 'contradicted', 'it counts none', { ...KILLED, metrics: { cgroup_oom_kills: 0 } }],
  ['cgroup-out-of-memory', 'contradicted', 'failed 37', { ...ENFORCED, metrics: { cgroup_oom_kills: 1 } }],
  [
    'cgroup-out-of-memory',
    'contradicted',
    'no limit was reached',
    { ...KILLED, metrics: { cgroup_oom_kills: 1, cgroup_oom_events: 0 } },
  ],
  [
    'cgroup-out-of-memory',
    'consistent',
    "in the kernel's log",
    { ...KILLED, metrics: { cgroup_oom_kills: 0, taskstats_cgroup_oom_kills: 1 } },
  ],
  [
    'cgroup-out-of-memory',
    'consistent',
    'systemd stops the scope then',
    { ...bySignal(15), metrics: { taskstats_cgroup_oom_kills: 1 } },
  ],
  [
    'cgroup-out-of-memory',
    'contradicted',
    'for the node, by the log',
    { ...KILLED, metrics: { taskstats_node_oom_kills: 1 } },
  ],
  ['cgroup-out-of-memory', 'undecidable', 'no cgroup', KILLED],
  [
    'node-out-of-memory',
    'consistent',
    'killed without a limit',
    { ...KILLED, metrics: { cgroup_oom_kills: 1, cgroup_oom_events: 0 } },
  ],
  ['node-out-of-memory', 'consistent', "in the kernel's log", { ...KILLED, metrics: { taskstats_node_oom_kills: 1 } }],
  ['node-out-of-memory', 'consistent', 'one process of the job', EXIT_STATUS_OF_SHELL],
  [
    'node-out-of-memory',
    'contradicted',
    'at a limit',
    { ...KILLED, metrics: { cgroup_oom_kills: 1, cgroup_oom_events: 2 } },
  ],
  ['node-out-of-memory', 'undecidable', 'nothing read', KILLED],

  ['deleted', 'consistent', 'Grid Engine names who', { ...AFTER_SIGNAL, ...asked('', { deleted_by: 'bob@login1' }) }],
  ['deleted', 'consistent', 'failed 100', AFTER_SIGNAL],
  ['deleted', 'consistent', 'the notice', { ...bySignal(12), failed: 100 }],
  ['deleted', 'consistent', 'by force', { ...KILLED, failed: 0, grid_engine: accountOf() }],
  ['deleted', 'consistent', 'by force, unseen', { status: 'lost', failed: 0, grid_engine: accountOf() }],
  ['deleted', 'contradicted', 'by force, long over', { exit_status: 3, failed: 0, grid_engine: accountOf() }],
  ['deleted', 'contradicted', 'failed 37', ENFORCED],
  ['deleted', 'contradicted', 'the shell lived on', { ...EXIT_STATUS_OF_SHELL, failed: 0 }],
  ['deleted', 'contradicted', 'OCS would name who', AFTER_SIGNAL, 'ocs'],
  ['deleted', 'undecidable', 'Grid Engine has not reported it yet', KILLED],

  ['suspended', 'consistent', 'the notice', { ...bySignal(10), failed: 100 }],
  ['suspended', 'contradicted', 'the notice of a kill', { ...bySignal(12), failed: 100 }],

  ['crash', 'consistent', 'far below', bySignal(11)],
  ['crash', 'consistent', 'told by a shell', { signal: 0, exit_status: 136 }],
  ['crash', 'contradicted', 'a kill', KILLED],
  ['own-error', 'consistent', 'an exit status', { exit_status: 3 }],
  ['own-error', 'contradicted', 'a signal', bySignal(11)],
  ['own-error', 'contradicted', 'another failure', { exit_status: 1, failed: 15 }],
  ['signalled', 'consistent', 'SIGTERM', bySignal(15)],
  ['signalled', 'undecidable', 'SIGKILL', KILLED],
  ['signalled', 'contradicted', 'failed 37', ENFORCED],
  ['file-size', 'consistent', 'SIGXFSZ', bySignal(25)],
  ['file-size', 'contradicted', 'SIGBUS', bySignal(7)],

  ['never-ran', 'consistent', 'output file', { exit_status: 0, failed: 26 }],
  ['never-ran', 'contradicted', 'it ran', { exit_status: 1, failed: 0 }],
  ['rescheduled', 'consistent', 'failed 25', { exit_status: 99, failed: 25 }],
  ['rescheduled', 'consistent', 'exit status 99', { exit_status: 99 }],
  ['rescheduled', 'contradicted', 'exit status 98', { exit_status: 98 }],
  ['failed-afterwards', 'consistent', 'the epilog', { exit_status: 0, failed: 15 }],
  ['failed-afterwards', 'contradicted', 'nothing failed', { exit_status: 1, failed: 0 }],
  ['node-lost', 'consistent', 'no exit status', { exit_status: 0, failed: 19 }],
  ['node-lost', 'consistent', 'the sampler, too', { ...AFTER_SIGNAL, status: 'lost' }],
  ['node-lost', 'consistent', 'nothing is known of its end', { exit_status: 0, signal: 0, failed: 100 }],
  ['node-lost', 'contradicted', 'it was reported', KILLED],
];

describe('whyEnded', () => {
  for (const [cause, expected, name, changes, dialect] of TABLE)
    it(`${cause} is ${expected}: ${name}${dialect === undefined ? '' : ` (${dialect})`}`, () => {
      const result = why(changes, dialect);
      assert.equal(standing(result, cause), expected, JSON.stringify(result, null, 1));
    });

  it('has a consistent and a contradicted row in the table for every cause', () => {
    const covered = (expected: Standing): Set<Cause> =>
      new Set(TABLE.filter(([, one]) => one === expected).map(([cause]) => cause));
    const all = new Set(why(KILLED).hypotheses.map(({ cause }) => cause));
    assert.deepEqual(covered('consistent'), all);
    assert.deepEqual(covered('contradicted'), all);
  });

  it('is null for a job that ended well, runs, or ended in an unknown way', () => {
    assert.equal(whyEnded([modest]), null);
    assert.equal(whyEnded([]), null);
    assert.equal(whyEnded([{ ...modest, ...KILLED, status: 'running' }]), null);
    assert.equal(whyEnded([{ ...modest, exit_status: null, signal: null }]), null);
  });
});

describe('the sentence about a bad end', () => {
  const assertSentence = (
    changes: Partial<JobRecord>,
    confidence: Why['confidence'],
    causes: readonly Cause[],
    text: RegExp,
  ): void => {
    const result = why(changes);
    assert.deepEqual([result.confidence, result.causes], [confidence, causes], result.sentence);
    assert.match(result.sentence, text);
  };

  it('calls the cause certain where one limit fits and Grid Engine says that it enforced a limit', () => {
    assertSentence(
      { ...ENFORCED, ...held(3.9 * GIB, 4.1 * GIB) },
      'certain',
      ['h_vmem'],
      /^Probable cause: Grid Engine's own kill at h_vmem\. It held 3\.90 GiB to 4\.10 GiB of the 4 GiB allowed on node07 when SIGKILL came at 2026-11-20T13:12:11Z\.$/,
    );
    assertSentence(
      { ...ENFORCED, ...asked('-l h_rt=600') },
      'certain',
      ['h_rt'],
      /at h_rt\. It ran 0:10:00 of the 0:10:00 of h_rt when/,
    );
  });

  it('names both limits where both fit', () => {
    assertSentence(
      { ...ENFORCED, ...held(4.1 * GIB), ...asked('-l h_rt=600') },
      'possible',
      ['h_vmem', 'h_rt'],
      /^Possible causes: Grid Engine's own kill at h_vmem \(.*\) or Grid Engine's kill at h_rt \(.*\)\. Evidence needed: /,
    );
  });

  it('asks for no accounting line that is there', () => {
    const asksForIt = (changes: Partial<JobRecord>): boolean =>
      why(changes).hypotheses.some(({ wouldShow }) => wouldShow?.includes('accounting line'));
    for (const changes of [{ status: 'lost' } as const, held(3.9 * GIB)]) {
      assert.ok(asksForIt({ ...KILLED, ...changes }));
      assert.ok(!asksForIt({ ...AFTER_SIGNAL, ...asked(''), ...changes }));
    }
  });

  it('says which evidence is needed where the cause is unknown', () => {
    assertSentence(
      KILLED,
      'unknown',
      [],
      /^Cause unknown: nothing known explains SIGKILL at .*; it had used 30 % of h_vmem\. Evidence needed: Grid Engine's accounting line \(qmemacct import\) or .*\.$/,
    );
    assertSentence(ENFORCED, 'unknown', [], /^Grid Engine enforced a limit \(failed 37\), but which one is unknown; /);
  });

  it('blames no limit for a command that ran without Grid Engine and without a limit', () => {
    for (const changes of [
      { ...KILLED, ...held(4.1 * GIB) },
      { exit_status: 1, ...space(4.1 * GIB) },
    ]) {
      const record = { ...modest, ...changes, cluster: '(run)' };
      const result = whyEnded([record]);
      assert.doesNotMatch(result?.sentence ?? '', /Grid Engine|limit|allowed|refused|qdel/);
      assert.deepEqual([killedByMemory(record), killedByMemory({ ...record, cluster: '(demo)' })], [false, true]);
    }
  });

  it('names no host in the limit of all slots of a job, where its hosts are unknown', () => {
    const alone = { ...modest, ...KILLED, failed: 100, pe: 'mpi', slots: 16, host_slots: null, granted_hosts: null };
    const unsampled = { ...alone, peak_rss: null, peak_rss_swap: null, peak_vmem: null, peak_process_vmem: null };
    const limit = { request_bytes: 2 * GIB, limit_bytes: 32 * GIB, per: 'slot' } as const;
    const line = asked('', { maxvmem_bytes: 40 * GIB });
    const result = whyEnded([{ ...unsampled, h_vmem: limit, ...line }]);
    assert.match(result?.sentence ?? '', /counted 40\.0 GiB of the 32 GiB that its 16 slots may hold together/);
  });

  it('says how to mend what kept a job from starting', () => {
    assertSentence(
      { exit_status: 0, failed: 26 },
      'certain',
      ['never-ran'],
      /^It never ran: an output file could not be opened on node07 \(failed 26\): qsub -o and -e/,
    );
    assertSentence(
      { exit_status: 0, failed: 28 },
      'certain',
      ['never-ran'],
      /working directory .* does not exist on the node/,
    );
    assertSentence(
      { exit_status: 0, failed: 27 },
      'certain',
      ['never-ran'],
      /^It never ran: its shell or program was not found on node07 .*: the shell of qsub -S or of the queue,/,
    );
    assertSentence(
      { exit_status: 0, failed: 15 },
      'certain',
      ['failed-afterwards'],
      /^The job was over: .* the job itself ended with exit status 0\.$/,
    );
  });

  it('knows a job that ran, and whose epilog then lacked the directory or output file that the job had removed', () => {
    for (const [failed, lacks] of [
      [28, /^The job was over: its working directory had been removed, .* \(failed 28\); .* exit status 0\.$/],
      [26, /^The job was over: its output file could no longer be opened, .* \(failed 26\); .* exit status 0\.$/],
    ] as const) {
      const ran = { exit_status: 0, failed, ...asked('') };
      assertSentence(ran, 'certain', ['failed-afterwards'], lacks);
      assert.equal(ranWell({ ...modest, ...ran }), true);
      assert.equal(coverageReason({ ...modest, ...ran, samples: 4 }), 'sampled');
    }
  });

  it('says that exit status 100 asks for the error state, not for another run', () => {
    for (const failed of [null, 0, 30]) {
      const { sentence } = whyEnded([{ ...modest, exit_status: 100, failed }]) ?? {};
      assert.match(sentence ?? '', /: a request for the error state/);
    }
  });

  it('does not take a hidden request for one that was not made', () => {
    const hidden = { ...AFTER_SIGNAL, ...asked('anonymous') };
    for (const dialect of ['sge6.2', 'ocs'] as const) {
      const result = why(hidden, dialect);
      assert.equal(standing(result, 'h_rt'), 'undecidable');
      assert.doesNotMatch(JSON.stringify(result), /requested no|names nobody/);
    }
    assert.match(JSON.stringify(why({ ...AFTER_SIGNAL, ...asked('') })), /requested no h_rt/);
  });

  it('names the user who deleted the job, whatever the name', () => {
    assertSentence(
      { ...AFTER_SIGNAL, ...asked('', { deleted_by: 'bob' }) },
      'certain',
      ['deleted'],
      /^It was deleted: Grid Engine says that bob deleted it\.$/,
    );
    // qmod -rj on Open Cluster Scheduler.
    const again = { ...KILLED, failed: 25, ...asked('', { deleted_by: 'bob' }) };
    assertSentence(again, 'certain', ['rescheduled'], /Grid Engine says failed 25: to be scheduled again\.$/);
    const result = whyEnded([{ ...modest, ...AFTER_SIGNAL, ...asked('', { deleted_by: '\u001b[31mbob' }) }], {
      safe: (text) => text.replace(/\p{C}/gu, '?'),
      clock: (time) => time,
    });
    assert.match(result?.sentence ?? '', /\?\[31mbob/);
  });

  it('tells a crash from refused memory by how near the limit was', () => {
    assertSentence(
      bySignal(6),
      'likely',
      ['crash'],
      /a crash of the program\. SIGABRT at .*; it had used 30 % of h_vmem/,
    );
    assertSentence(
      { ...bySignal(6), ...space(3.99 * GIB) },
      'likely',
      ['refused-memory'],
      /a process \(java\) had reached at least 3\.99 GiB of the 4 GiB/,
    );
    assertSentence({ exit_status: 3 }, 'likely', ['own-error'], /exit status 3; it had used 30 % of h_vmem/);
    assertSentence(
      bySignal(15),
      'likely',
      ['signalled'],
      /sends only by a method of the queue, a checkpointing environment, NOTIFY_KILL or NOTIFY_SUSP/,
    );
    assertSentence({ exit_status: 127 }, 'likely', ['own-error'], /a shell did not find a command/);
  });

  it('takes SIGUSR1 and SIGUSR2 for notices, or for what somebody sent', () => {
    for (const [signal, cause, notice] of [
      [10, 'suspended', /SIGUSR1 came at \S+, as before a job of qsub -notify is suspended\) or a signal .*SIGUSR1\)/],
      [12, 'deleted', /SIGUSR2 came at \S+, the notice before the kill \(qsub -notify\)\) or a signal .*SIGUSR2\)/],
    ] as const)
      assertSentence({ ...bySignal(signal), failed: 100 }, 'possible', [cause, 'signalled'], notice);
  });

  it('says of a job of qrsh or qlogin that its client may have died', () => {
    const interactive = { ...AFTER_SIGNAL, ...asked('-q all.q -l h_vmem=1G -I y') };
    assertSentence(interactive, 'possible', ['deleted'], /as for a deleted job, or one whose qrsh or qlogin died/);
  });

  it('leaves open whether memory was refused where the job may have come close to a limit', () => {
    const unseen = { exit_status: 1, peak_process_vmem: null };
    const unmeasured = { ...unseen, peak_rss: null, peak_rss_swap: null };
    const nearly: readonly Partial<JobRecord>[] = [
      { exit_status: 3, peak_process_vmem: provedBracket(3 * GIB, 3.9 * GIB, null, 'sim') },
      { ...unseen, ...held(3.9 * GIB) },
      { ...unseen, peak_rss: null, peak_rss_swap: null, ...asked('', { maxvmem_bytes: 3.9 * GIB }) },
      { exit_status: 1, ...held(1.9 * GIB), ...space(2.1 * GIB), h_vmem: null, requests: { h_data: TWO_GIB } },
      { exit_status: 1, ...held(1.9 * GIB), ...space(2.1 * GIB), requests: { s_data: TWO_GIB } },
      { ...unmeasured, requests: { h_data: { request_bytes: 12e6, limit_bytes: 12e6, per: 'slot' } } },
    ];
    for (const end of nearly)
      assertSentence(end, 'possible', ['refused-memory', 'own-error'], /Evidence needed: the program's own/);
    assertSentence({ ...unmeasured, requests: { h_data: TWO_GIB } }, 'likely', ['own-error'], /by itself/);
    assertSentence({ ...unseen, ...held(3.5 * GIB) }, 'likely', ['own-error'], /it had used 88 % of h_vmem/);
    const soft = { requests: { s_vmem: TWO_GIB } };
    assertSentence({ exit_status: 1, ...space(1.9 * GIB), ...soft }, 'likely', ['refused-memory'], /refused at s_vmem/);
  });

  it('says that memory was still growing', () => {
    const series = {
      start: after(0),
      step_seconds: 6,
      others: {},
      rss_bytes: Array.from({ length: 100 }, (_, index) => index * 4e7),
    };
    assert.match(why({ ...KILLED, ...held(4 * GIB), series }).sentence, /and was still growing/);
  });
});

describe('a parallel job', () => {
  const peak = provedBracket(31.9 * GIB, 32.2 * GIB, after(4000), 'solve');
  const killed = { ...mpiTask(3), ...KILLED, ended_at: after(4000), peak_rss: peak, peak_rss_swap: peak };

  it('is explained by the host where it ended first', () => {
    const result = whyEnded([{ ...mpiMaster(4), exit_status: 1, ended_at: after(4005) }, mpiTask(1), killed]);
    assert.deepEqual(result?.causes, ['h_vmem']);
    assert.match(result.sentence, /It held 31\.9 GiB to 32\.2 GiB of the 32 GiB allowed on node03/);
  });

  it("is explained by Grid Engine's figure of a slave task, whatever the samples show", () => {
    const line = tenMinutesOf({ category: '-l h_vmem=2G -pe orte 64', maxvmem_bytes: 32.1 * GIB });
    const master = { ...mpiMaster(4), exit_status: 137, signal: 0, failed: 0, ended_at: after(4005) };
    const seen = (bracket: Bracket | null): JobRecord => ({
      ...killed,
      failed: 100,
      peak_rss: bracket,
      peak_rss_swap: bracket,
      grid_engine: line,
    });
    for (const dialect of ['sge8.1.9', 'unknown'] as const)
      for (const bracket of [null, openBracket(GIB, null, null), openBracket(31 * GIB, null, null)]) {
        const run = [{ ...master, grid_engine: tenMinutesOf({ maxvmem_bytes: 0.1 * GIB }) }, seen(bracket)];
        const result = whyEnded(run, undefined, dialect);
        assert.deepEqual([result?.causes, result?.confidence], [['h_vmem'], 'likely'], result?.sentence);
        assert.match(result?.sentence ?? '', /Grid Engine counted 32\.1 GiB/);
        assert.match(nextTime(needsOf(run), [result])?.line ?? '', /^qsub -l h_vmem=3(\.1)?G$/);
      }
  });

  it('is not explained by h_vmem where only the sum over all hosts exceeds the limit', () => {
    const line = tenMinutesOf({ category: '-l h_vmem=2G -pe orte 64', maxvmem_bytes: 32.1 * GIB });
    const low = provedBracket(GIB, 1.1 * GIB, null, null);
    const dead = { ...killed, failed: 100, peak_rss: low, peak_rss_swap: low, peak_vmem: low };
    const result = whyEnded([{ ...mpiMaster(4), ...AFTER_SIGNAL, grid_engine: line }, dead]);
    assert.ok(result !== null && !result.causes.includes('h_vmem'), result?.sentence);
  });

  it('is explained by the time limit of its master, though the tasks died earlier', () => {
    const line = tenMinutesOf({ category: '-l h_rt=4000', wallclock_seconds: 4001 });
    const master = { ...mpiMaster(4), ...ENFORCED, ended_at: after(4001), wallclock_seconds: 4001, grid_engine: line };
    const task = { ...mpiTask(1), ...AFTER_SIGNAL, ended_at: after(4000) };
    assert.deepEqual(whyEnded([master, task], undefined, 'sge8.1.9')?.causes, ['h_rt']);
    const softly = { ...tenMinutesOf({ category: '-l s_rt=4000' }), wallclock_seconds: 4001 };
    const warned = { ...master, ...bySignal(10), failed: 100, grid_engine: softly };
    assert.deepEqual(whyEnded([warned, task], undefined, 'sge8.1.9')?.causes, ['s_rt']);
  });

  it('has ended well if its master has, unless memory ended a task', () => {
    const well = { ...mpiMaster(4), ended_at: after(4005) };
    assert.equal(whyEnded([well, { ...mpiTask(1), exit_status: 1 }]), null);
    assert.deepEqual(whyEnded([well, mpiTask(1), killed])?.causes, ['h_vmem']);
  });

  it('is explained by its master where the tasks died after it', () => {
    const late = { ...killed, ended_at: after(4010), peak_rss: null, peak_rss_swap: null };
    const result = whyEnded([{ ...mpiMaster(4), exit_status: 1, ended_at: after(4005) }, late]);
    assert.deepEqual(result?.causes, ['own-error']);
  });
});

describe('for any records, whyEnded', () => {
  const ends = fc.record({
    exit_status: fc.constantFrom(null, 0, 1, 99, 100, 134, 137, 139),
    signal: fc.constantFrom(null, 0, 6, 9, 10, 11, 12, 15, 24),
    failed: fc.constantFrom(null, null, 0, 15, 19, 26, 37, 100),
    metrics: fc.constantFrom(
      {},
      {},
      { cgroup_oom_kills: 0 },
      { cgroup_oom_kills: 2 },
      { cgroup_oom_kills: 1, cgroup_oom_events: 0 },
    ),
  });
  const accounts = fc.constantFrom(
    null,
    tenMinutesOf(),
    tenMinutesOf({ category: '-l h_rt=60,h_cpu=30', maxvmem_bytes: GIB }),
  );
  const records = fc.array(
    fc
      .tuple(arbitraryRecord(), ends, accounts)
      .map(([record, end, account]) => ({ ...record, ...end, grid_engine: account })),
    { minLength: 1, maxLength: 3 },
  );

  it('never throws, and names only consistent causes', () => {
    fc.assert(
      fc.property(records, fc.constantFrom(...DIALECTS), (run, dialect) => {
        const result = whyEnded(run, undefined, dialect);
        if (result === null) return;
        assert.notEqual(result.sentence, '');
        assert.equal(result.causes.length === 0, result.confidence === 'unknown');
        for (const cause of result.causes) assert.equal(standing(result, cause), 'consistent');
        assert.equal(new Set(result.hypotheses.map(({ cause }) => cause)).size, result.hypotheses.length);
      }),
      { numRuns: 300 },
    );
  });

  it('names no limit that was not reached, and no kill without its signal', () => {
    fc.assert(
      fc.property(records, fc.constantFrom(...DIALECTS), (run, dialect) => {
        const [one] = run;
        if (run.length !== 1 || one === undefined || (one.granted_hosts?.length ?? 0) > 1) return;
        const causes = whyEnded(run, undefined, dialect)?.causes ?? [];
        const limit = execdLimit(one);
        const category = categoryRequests(one.grid_engine?.category ?? '');
        const ran = Math.max(one.wallclock_seconds ?? 0, one.grid_engine?.wallclock_seconds ?? 0);
        if (causes.includes('h_vmem')) {
          assert.ok(limit !== null && (one.signal === 9 || one.exit_status === 137 || one.failed === 37));
          const sums = [one.peak_rss_swap ?? one.peak_rss, one.peak_vmem].map((sum) => sum?.upper_bytes ?? Infinity);
          assert.ok(Math.max(...sums, one.grid_engine?.maxvmem_bytes ?? 0) >= 0.9 * limit);
        }
        if (causes.includes('h_rt')) assert.ok(ran >= (requestedSeconds(category, 'h_rt') ?? Infinity) - 2);
        if (causes.includes('cgroup-out-of-memory')) assert.ok((one.metrics.cgroup_oom_kills ?? 0) > 0);
        if (one.failed === 37)
          for (const cause of ['deleted', 'signalled', 'node-out-of-memory'] as const)
            assert.ok(!causes.includes(cause));
        if (one.failed === 26 && one.status !== 'running' && !one.grid_engine?.wallclock_seconds)
          assert.deepEqual(causes, ['never-ran']);
      }),
      { numRuns: 300 },
    );
  });

  it('agrees with the rule by which the daily sums count kills by memory', () => {
    const memory: readonly Cause[] = ['h_vmem', 'refused-memory', 'cgroup-out-of-memory'];
    fc.assert(
      fc.property(records, (run) => {
        const [one] = run;
        if (run.length !== 1 || one === undefined || one.status === 'running') return;
        if ((one.granted_hosts?.length ?? 0) > 1 || 's_vmem' in one.requests) return;
        // No account has a finite request without the limit that follows from it.
        if (one.h_vmem?.request_bytes != null && !one.h_vmem.limit_bytes) return;
        const result = whyEnded(run);
        if (result !== null && result.causes.length > 0 && result.causes.every((cause) => memory.includes(cause)))
          assert.ok(killedByMemory(one), result.sentence);
      }),
      { numRuns: 300 },
    );
  });
});
