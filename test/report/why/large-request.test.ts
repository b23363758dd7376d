import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { killedByMemory } from '../../../src/record/cause';
import { nextTime } from '../../../src/report/advice/next-time';
import { whyEnded, type Why } from '../../../src/report/why/why';
import type { JobRecord } from '../../../src/record/record';
import { modest } from '../bad-ends';
import { openBracket } from '../sample-records';
import { accountOf } from '../../support/records';

const MIB = 1024 ** 2;

interface Ended {
  readonly limitMib: number;
  readonly command: string | null;
  readonly spaceMib: number;
  readonly status: number;
  readonly signal?: number;
  readonly seconds?: number;
}

function recordOf({ limitMib, command, spaceMib, status, signal = 0, seconds = 0.4 }: Ended): JobRecord {
  const space = openBracket(spaceMib * MIB, null, command);
  const limit = limitMib * MIB;
  return {
    ...modest,
    h_vmem: { request_bytes: limit, limit_bytes: limit, per: 'slot' },
    peak_rss: openBracket(Math.min(spaceMib, 20) * MIB, null, command),
    peak_rss_swap: openBracket(Math.min(spaceMib, 20) * MIB, null, command),
    peak_process_vmem: space,
    peak_vmem: space,
    exit_status: status,
    signal,
    failed: signal === 0 ? 0 : 100,
    wallclock_seconds: seconds,
  };
}

function whyOf(ended: Ended): { readonly why: Why; readonly next: string | null; readonly reasons: string } {
  const record = recordOf(ended);
  const why = whyEnded([record]);
  assert.ok(why !== null);
  const next = nextTime([record], [why]);
  return { why, next: next?.line ?? null, reasons: next?.reasons.join('\n') ?? '' };
}

describe('an h_vmem below what the shepherd sets as a limit', () => {
  const under = (bytes: number, end: Partial<JobRecord>): readonly [readonly string[], string, string | undefined] => {
    const h_vmem = { request_bytes: bytes, limit_bytes: 10 * MIB, per: 'slot' } as const;
    const none = { peak_rss: null, peak_rss_swap: null, peak_process_vmem: null, peak_vmem: null };
    const record = { ...modest, h_vmem, ...none, ...end };
    const why = whyEnded([record], undefined, 'sge8.1.9');
    assert.ok(why !== null && killedByMemory(record));
    return [why.causes, why.sentence, nextTime([record], [why])?.line];
  };

  it('is the cause of any bad end, and the unit that was left out is advised', () => {
    const [refused, sentence, line] = under(4, { exit_status: 127, signal: 0, failed: 0 });
    assert.deepEqual([refused, line], [['refused-memory'], 'qsub -l h_vmem=4G']);
    assert.match(sentence, /It requested h_vmem=4, which is 4 B: no program runs with that\.$/);
    const killed = under(4000, { exit_status: 137, signal: 9, failed: 37 });
    assert.deepEqual([killed[0], killed[2]], [['h_vmem'], 'qsub -l h_vmem=4000M']);
    const zero = (category: string | null): string => {
      const grid_engine = category === null ? null : accountOf({ category });
      const [causes, why] = under(0, { exit_status: 137, signal: 9, failed: 37, grid_engine });
      assert.deepEqual(causes, ['h_vmem']);
      return why;
    };
    assert.match(zero('-l arch=lx-amd64'), /0, the complex's default where none is requested: no program/);
    assert.match(zero('-l h_vmem=0'), /Its h_vmem was 0: no program/);
    assert.match(zero(null), /Its h_vmem was 0: no program/);
  });
});

describe('a single large request that was refused', () => {
  it('is a possible cause, and twice the limit is advised, where little was left', () => {
    const { why, next, reasons } = whyOf({ limitMib: 300, command: 'python3.11', spaceMib: 16, status: 1 });
    assert.deepEqual([why.confidence, why.causes], ['possible', ['refused-memory', 'own-error']]);
    assert.match(
      why.sentence,
      /python3\.11\) had reached at least 16\.0 MiB of the 300 MiB .*; a single request for the 284 MiB that were left would have been refused, which ends a program this way, 400 ms after its start\) or a failure of the job itself .*\. Evidence needed: .*MemoryError\)\./,
    );
    assert.equal(next, 'qsub -l h_vmem=600M');
    assert.match(reasons, /^h_vmem: twice the limit, if its messages speak of memory/);
  });

  it('is what a runtime makes at its start', () => {
    const java = whyOf({ limitMib: 1024, command: 'java', spaceMib: 300, status: 1 });
    assert.deepEqual(java.why.causes, ['refused-memory', 'own-error']);
    assert.match(java.why.sentence, /java asks for 2\.5 GiB.* and it got no further, 400 ms after its start/);
    assert.equal(java.next, 'qsub -l h_vmem=4G');
    assert.match(java.reasons, /-Xmx1g/);
    // A JVM uses what it gets and is at its limit when it gives up: half as much again would not do.
    const full = whyOf({ limitMib: 1024, command: 'java', spaceMib: 1023, status: 1 });
    assert.deepEqual([full.why.causes, full.next], [['refused-memory'], 'qsub -l h_vmem=4G']);
    const wide = whyOf({ limitMib: 6 * 1024, command: 'java', spaceMib: 1300, status: 1 });
    assert.deepEqual([wide.why.causes, wide.next], [['refused-memory', 'own-error'], 'qsub -l h_vmem=12G']);
    const node = whyOf({ limitMib: 600, command: 'node', spaceMib: 90, status: 133, signal: 5 });
    assert.deepEqual([node.why.causes, node.next], [['refused-memory', 'crash'], 'qsub -l h_vmem=1.5G']);
  });

  it('is no likely cause without evidence', () => {
    const without: readonly Ended[] = [
      // 2.8 GiB were left.
      { limitMib: 4096, command: 'python3', spaceMib: 1229, status: 1 },
      // The program chose this exit status itself.
      { limitMib: 300, command: 'python3', spaceMib: 16, status: 3 },
      { limitMib: 300, command: 'python3', spaceMib: 16, status: 127 },
      { limitMib: 300, command: '1234 (bash)', spaceMib: 8, status: 1 },
      { limitMib: 300, command: 'bash', spaceMib: 8, status: 1 },
      { limitMib: 300, command: null, spaceMib: 8, status: 1 },
      { limitMib: 64 * 1024, command: 'java', spaceMib: 100, status: 1 },
      { limitMib: 300, command: 'python3', spaceMib: 16, status: 139, signal: 11 },
    ];
    for (const ended of without) {
      const { why, next } = whyOf(ended);
      assert.deepEqual([why.causes.includes('refused-memory'), next], [false, null], JSON.stringify(ended));
    }
  });
});

/** Runs a command under RLIMIT_AS, as Grid Engine does for a job with that h_vmem. */
function underLimit(limitMib: number, command: readonly string[]): { status: number; stdout: string; output: string } {
  const script = `ulimit -v ${limitMib * 1024} && exec "$@"`;
  const { status, stdout, stderr } = spawnSync('/bin/sh', ['-c', script, 'sh', ...command], {
    encoding: 'utf8',
    env: { PATH: '/usr/bin:/bin' },
  });
  return { status: status ?? -1, stdout, output: stdout + stderr };
}

const has = (program: string): boolean => spawnSync(program, ['--version']).status === 0;

const PYTHON = `
import re
try:
    bytearray(400 << 20)
except MemoryError:
    print(re.search(r"VmPeak:\\s*(\\d+)", open("/proc/self/status").read()).group(1), flush=True)
    raise
`;

describe('a real process', () => {
  it(
    'of python3 with a bytearray that does not fit is explained so',
    { skip: has('/usr/bin/python3') ? false : 'no python3' },
    () => {
      const { status, stdout, output } = underLimit(300, ['/usr/bin/python3', '-c', PYTHON]);
      assert.match(output, /MemoryError/);
      const spaceMib = Number(stdout.trim()) / 1024;
      assert.ok(spaceMib > 0 && spaceMib < 270, stdout);
      const { why, next } = whyOf({ limitMib: 300, command: 'python3', spaceMib, status });
      assert.deepEqual([why.causes, next], [['refused-memory', 'own-error'], 'qsub -l h_vmem=600M']);
    },
  );

  it(
    'of java that cannot reserve its memory is explained so, and java starts with the advised request',
    { skip: has('/usr/bin/java') ? false : 'no java' },
    () => {
      const { status, output } = underLimit(1024, ['/usr/bin/java', '-version']);
      assert.match(output, /Could not (reserve|allocate)|insufficient memory|Could not create/i);
      // Its exit record may show any part of the address space.
      for (const spaceMib of [0, 40, 400, 900]) {
        const { why, next } = whyOf({ limitMib: 1024, command: 'java', spaceMib, status });
        assert.deepEqual([why.causes, next], [['refused-memory', 'own-error'], 'qsub -l h_vmem=4G'], `${spaceMib}`);
      }
      assert.equal(underLimit(4096, ['/usr/bin/java', '-Xmx1g', '-version']).status, 0);
    },
  );
});
