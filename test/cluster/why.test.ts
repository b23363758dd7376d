import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseAccountingLine, type AccountingRecord } from '../../src/gridengine/accounting-line';
import { nextTime } from '../../src/report/next-time';
import { whyEnded, type Why } from '../../src/report/why/why';
import { emptyRecord, type JobRecord } from '../../src/sampler/record';
import { client } from './layout';
import { burnerCommand, withSite, type Site } from './site';
import { waitFor } from './wait';

const USER = 'gealice';

function accountingLine({ cell }: Site, job: string): AccountingRecord | null {
  // qmaster makes the file with its first line.
  if (!existsSync(cell.layout.accounting)) return null;
  for (const line of readFileSync(cell.layout.accounting, 'utf8').split('\n')) {
    const parsed = parseAccountingLine(line);
    if (parsed.ok && parsed.value.jobId === Number(job)) return parsed.value;
  }
  return null;
}

/** The sampler's record with what Grid Engine says of the same run. */
function joined(record: JobRecord, line: AccountingRecord): JobRecord {
  return {
    ...record,
    failed: line.failed,
    grid_engine: {
      wallclock_seconds: line.wallclockSeconds,
      cpu_seconds: line.cpuSeconds,
      user_seconds: line.userSeconds,
      system_seconds: line.systemSeconds,
      maxvmem_bytes: line.maxvmemBytes,
      maxrss_bytes: line.maxrssBytes,
      mem_gib_seconds: line.memGibSeconds,
      io_gib: line.ioGib,
      category: line.category,
      deleted_by: null,
      lines: 1,
    },
  };
}

/** What is left of a job that no sampler saw. */
function unseen(line: AccountingRecord): JobRecord {
  const key = { cluster: 'cell', job_id: line.jobId, task_id: null, pe_task_id: null, host: line.host, run_id: 'none' };
  const base = emptyRecord(key, 'unsampled', 'accounting', 0);
  return joined({ ...base, owner: line.owner, queue: line.queue, exit_status: line.exitStatus }, line);
}

interface Case {
  readonly name: string;
  readonly request: string;
  readonly script: string;
  /** What whoever waits does once it runs. */
  readonly then?: (site: Site, job: string) => Promise<unknown>;
  readonly causes: readonly string[];
  readonly sentence: RegExp;
  readonly next?: RegExp;
}

const many = (count: number, mib: number): string =>
  `${Array.from({ length: count }, (_, index) => `${burnerCommand('steady', `sum${index}.truth`, { mib, hold: 30_000 })} &`).join(' ')} wait`;

const CASES: readonly Case[] = [
  {
    name: 'memory that the kernel refuses, step by step',
    request: 'h_vmem=1G',
    script: `exec perl -e 'while (1) { push @held, "x" x (4 << 20); select undef, undef, undef, 0.02 }'`,
    causes: ['refused-memory'],
    sentence: /memory that was refused at h_vmem: the address space of a process \(perl\) had reached .* of the 1 GiB/,
    next: /^qsub -l h_vmem=1\.5G$/,
  },
  {
    name: "execd's sum over three processes",
    request: 'h_vmem=1G',
    script: many(3, 450),
    causes: ['h_vmem'],
    sentence:
      /Grid Engine's own kill at h_vmem: it held at least .* of the 1 GiB allowed on ge[12] \(Grid Engine counted .* as maxvmem\) when SIGKILL came at /,
    next: /^qsub -l h_vmem=1\.[5-9]G$/,
  },
  {
    name: 'h_rt',
    request: 'h_vmem=1G,h_rt=4',
    script: 'sleep 60',
    causes: ['h_rt'],
    sentence: /Grid Engine's kill at h_rt: it ran [\d.]+ s of the 4 s of h_rt when SIGKILL came at /,
    next: /^qsub -l h_vmem=1G,h_rt=0:01:00$/,
  },
  {
    name: 'CPU time',
    request: 'h_vmem=1G,h_cpu=3',
    script: 'while :; do :; done',
    causes: ['cpu-time'],
    sentence: /the limit of CPU time \(h_cpu\): it used [\d.]+ s CPU time of the 3 s of h_cpu/,
  },
  {
    name: 'qdel',
    request: 'h_vmem=1G,h_rt=600',
    script: 'sleep 60',
    then: ({ cell }, job) => cell.check(cell.master, [client('qdel'), job]),
    causes: ['deleted'],
    sentence:
      /consistent with qdel: SIGKILL came at .* failed 100, as for a deleted job; it had used [\d.]+ % of h_vmem/,
  },
  {
    name: 'a crash of its own',
    request: 'h_vmem=1G',
    script: 'sleep 2; kill -SEGV $$',
    causes: ['crash'],
    sentence: /a crash of its own: SIGSEGV at .*; it had used [\d.]+ % of h_vmem/,
  },
  {
    name: 'a crash that the shell tells of',
    request: 'h_vmem=1G',
    script: `sleep 2; perl -e 'kill 11, $$'; exit $?`,
    causes: ['crash'],
    sentence: /exit status 139 \(a shell's word for SIGSEGV\)/,
  },
  {
    name: 'kill -9 of a child',
    request: 'h_vmem=1G,h_rt=600',
    script: `sleep 2; perl -e 'kill 9, $$'; exit $?`,
    causes: ['node-out-of-memory'],
    sentence:
      /a process of the job was killed and its shell was not.*The kernel's log on ge[12] \(journalctl -k\).* would tell/,
  },
  {
    name: 'an error of its own',
    request: 'h_vmem=1G',
    script: 'sleep 2; exit 3',
    causes: ['own-error'],
    sentence: /an error of its own: it ended by itself with exit status 3; it had used [\d.]+ % of h_vmem/,
  },
];

async function check(site: Site, one: Case, job: string, say: (text: string) => void): Promise<void> {
  const line = await waitFor(
    () => accountingLine(site, job),
    30_000,
    () => `accounting line of job ${job}`,
    100,
  );
  const record = joined(await site.product.record(job), line);
  const told = (why: Why | null): string =>
    `${JSON.stringify(why, null, 1)}\n${JSON.stringify({ ...record, series: null }, null, 1)}`;
  // What this cell runs is known; what it runs where nobody has asked is not.
  for (const dialect of ['sge8.1.9', 'unknown'] as const) {
    const why = whyEnded([record], undefined, dialect);
    assert.deepEqual(why?.causes, one.causes, told(why));
    assert.match(why.sentence, one.sentence, told(why));
    const next = nextTime([record], [why])?.line ?? '';
    say(`${dialect}: ${why.sentence} ${next}`);
    assert.match(next, one.next ?? /^(qsub -l h_vmem=\S+)?$/);
  }
}

async function unwritableOutput(site: Site): Promise<void> {
  const { cell } = site;
  const job = await cell.submit(USER, ['-N', 'unwritable', '-o', '/no/such/place/out'], 'sleep 1');
  const line = await waitFor(
    () => accountingLine(site, job),
    30_000,
    () => `accounting line of job ${job}`,
    100,
  );
  await cell.check(cell.master, [client('qdel'), job]);
  const records = (await site.product.present(job)).map(({ record }) => joined(record, line));
  const why = whyEnded(records.length > 0 ? records : [unseen(line)]);
  assert.deepEqual([why?.causes, why?.confidence], [['never-ran'], 'told'], JSON.stringify([why, line]));
  assert.match(
    why?.sentence ?? '',
    /^It never ran: an output file could not be opened on ge[12] \(failed 26\): qsub -o/,
  );
}

describe('why a job was killed', () => {
  it('is told from the record and its accounting line', { timeout: 300_000 }, async (t) => {
    await withSite(t, { settings: 'interval = 0.1\ncpu_budget_percent = 100' }, async (site) => {
      const { cell } = site;
      const jobs = await Promise.all(
        CASES.map((one, index) => cell.submit(USER, ['-N', `case${index}`, '-l', one.request], one.script)),
      );
      await Promise.all(
        CASES.map(async ({ then }, index) => {
          const job = jobs[index] ?? '';
          if (then === undefined) return;
          await cell.waitRunning(job);
          await sleep(1500);
          await then(site, job);
        }),
      );
      for (const [index, one] of CASES.entries())
        await t.test(one.name, (test) => check(site, one, jobs[index] ?? '', (text) => test.diagnostic(text)));
      await t.test('an output file that can not be written', () => unwritableOutput(site));
    });
  });
});
