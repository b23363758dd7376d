import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { nextTime } from '../../src/report/advice/next-time';
import { whyEnded, type Why } from '../../src/report/why/why';
import type { JobRecord } from '../../src/record/record';
import { SETTINGS_FILE } from '../../src/record/settings';
import { client, kind } from './kind';
import { awaitFigures, burnerCommand, withSite, type Site } from './site';
import { openingLines } from './tight';
import { until } from '../support/until';

const USER = 'gealice';

/** The job's records in the accounting DB. Fails unless each is joined with its accounting line. */
async function recordsOf({ product }: Site, job: string): Promise<readonly JobRecord[]> {
  const records = (await product.currentRecords(job)).map(({ record }) => record);
  assert.ok(records.length > 0, `no record of job ${job}`);
  for (const record of records) assert.ok(record.grid_engine !== null, `job ${job} is not joined with its line`);
  return records;
}

/** Until a task's accounting line comes, its own name is "petask": it must be found by the name of its job. */
async function tasksAreFoundByJobName({ product }: Site, job: string, name: string): Promise<void> {
  const records = (await product.records(job, 2)).map(({ record }) => record);
  assert.deepEqual(
    records.map((record) => record.job_name ?? record.pe_task_id).sort(),
    [name, records.find(({ pe_task_id: task }) => task !== null)?.pe_task_id].sort(),
  );
  const { stdout, stderr } = await product.run(
    'ge1',
    ...['jobs', '--name', name, '--since', '1d', '--accounting', product.accounting, '--json'],
  );
  const found = JSON.parse(stdout) as { readonly records: readonly JobRecord[] };
  assert.deepEqual(found.records.map(({ host }) => host).sort(), records.map(({ host }) => host).sort(), stderr);
}

/** Waits for all records and accounting lines, and joins them by the real command. */
async function importAllLines({ cell, product }: Site, jobs: readonly string[], unsampled: string): Promise<void> {
  await Promise.all(jobs.map((job) => product.record(job)));
  await until(() => [...jobs, unsampled].every((job) => cell.accounting(job).length > 0), 'the accounting lines', 100);
  await cell.check(cell.master, [client('qdel'), unsampled]);
  const imported = await product.run('ge1', 'import', cell.layout.accounting);
  assert.equal(imported.status, 0, imported.stderr);
}

interface Case {
  readonly name: string;
  readonly request: string;
  readonly script: string;
  readonly pe?: readonly [name: string, slots: number];
  /** Done once the job has been sampled. */
  readonly then?: (site: Site, job: string) => Promise<unknown>;
  readonly causes: readonly string[];
  readonly sentence: RegExp;
  /** The sentence on Open Cluster Scheduler, if it is another one; null: a job does not end like this there. */
  readonly onOcs?: RegExp | null;
  /** A job ends like this on Open Cluster Scheduler alone. */
  readonly onlyOnOcs?: true;
  readonly next?: RegExp;
}

/** Shell command that waits until the test has seen live figures of the job. */
const SAMPLED = 'until [ -e ~/$JOB_NAME.sampled ]; do sleep 0.2; done';

const burnersAtOnce = (count: number, mib: number): string =>
  `${Array.from({ length: count }, (_, index) => `${burnerCommand('steady', `sum${index}.truth`, { mib, hold: 30_000 })} &`).join(' ')} wait`;

const ALL_CASES: readonly Case[] = [
  {
    name: 'memory that the kernel refuses, step by step',
    request: 'h_vmem=1G',
    script: `exec perl -e 'while (1) { push @held, "x" x (4 << 20); select undef, undef, undef, 0.02 }'`,
    causes: ['refused-memory'],
    sentence: /memory that was refused at h_vmem\. The address space of a process \(perl\) had reached .* of the 1 GiB/,
    next: /^qsub -l h_vmem=1\.5G$/,
  },
  {
    name: 'one large request that the kernel refuses',
    request: 'h_vmem=600M',
    script: `perl -e 'sleep 1 until -e "$ENV{HOME}/$ENV{JOB_NAME}.sampled"; $bytes = 1 << 30; $held = "x" x $bytes'; exit $?`,
    causes: ['refused-memory', 'own-error'],
    sentence:
      /refused at h_vmem \(the address space of a process \(perl\) .* of the 600 MiB .*; a single request for .* MiB/,
    next: /^qsub -l h_vmem=1\.2G$/,
  },
  ...(existsSync('/usr/bin/java')
    ? [
        {
          name: 'a JVM that can not start',
          request: 'h_vmem=300M',
          // Each ends within a tenth of a second: of 30 at least one is sampled.
          script: 'for start in $(seq 30); do /usr/bin/java -version; done',
          causes: ['refused-memory', 'own-error'],
          sentence: /a process \(java\) .* of the 300 MiB .*; java asks for 2\.5 GiB, .* and it got no further/,
          next: /^qsub -l h_vmem=4G$/,
        },
      ]
    : []),
  {
    name: "execd's sum over three processes",
    request: 'h_vmem=1G',
    script: burnersAtOnce(3, 450),
    causes: ['h_vmem'],
    // If the kill comes before the first sample, there is Grid Engine's figure alone.
    sentence:
      /Grid Engine's own kill at h_vmem\. (It held .* of the 1 GiB allowed on ge[12] \(Grid Engine counted .* as maxvmem\)|Grid Engine counted .* of the 1 GiB allowed on ge[12] \(maxvmem\)) when SIGKILL came at /,
    onOcs:
      /Grid Engine's own kill at h_vmem\. (It (held|had an address space \(of all processes together\) of) .* of the 1 GiB allowed on ge[12] \(Grid Engine counted .* as maxvmem\)|Grid Engine counted .* of the 1 GiB allowed on ge[12] \(maxvmem\)) when SIGKILL came at /,
    next: /^qsub -l h_vmem=(1\.[5-9]|2)G$/,
  },
  {
    name: "execd's kill at h_rss",
    request: 'h_vmem=2G,h_rss=300M',
    script: burnersAtOnce(2, 200),
    causes: ['resident-memory'],
    sentence: /Grid Engine's own kill at h_rss\. It held .* of the 300 MiB of h_rss on ge[12] when SIGKILL came at /,
    onlyOnOcs: true,
    next: /^qsub -l h_vmem=2G,h_rss=\d+M$/,
  },
  {
    name: "execd's SIGXCPU at s_rss",
    request: 'h_vmem=2G,s_rss=300M',
    script: burnersAtOnce(2, 200),
    causes: ['resident-memory'],
    sentence: /Grid Engine's SIGXCPU at s_rss\. It held .* of the 300 MiB of s_rss on ge[12]/,
    onlyOnOcs: true,
    next: /^qsub -l h_vmem=2G,s_rss=\d+M$/,
  },
  {
    name: 'h_rt',
    request: 'h_vmem=1G,h_rt=4',
    script: 'sleep 60',
    causes: ['h_rt'],
    sentence: /Grid Engine's kill at h_rt\. It ran [\d.]+ s of the 4 s of h_rt when SIGKILL came at /,
    next: /^qsub -l h_vmem=1G,h_rt=0:01:00$/,
  },
  {
    name: 's_rt',
    request: 'h_vmem=1G,h_rt=600,s_rt=3',
    script: 'sleep 60',
    causes: ['s_rt'],
    sentence: /Grid Engine's SIGUSR1 at s_rt\. It ran [\d.]+ s of the 3(\.00)? s of s_rt/,
    next: /^qsub -l h_vmem=1G,(s_rt=0:01:00,h_rt=0:20:00|h_rt=0:20:00,s_rt=0:01:00)$/,
  },
  {
    name: "execd's SIGXCPU at s_vmem",
    request: 'h_vmem=2G,s_vmem=600M',
    script: burnersAtOnce(3, 300),
    causes: ['s_vmem'],
    sentence: /Grid Engine's SIGXCPU at s_vmem\. .* of the 600 MiB of s_vmem on ge[12]/,
    next: /^qsub -l h_vmem=2G,s_vmem=900M$/,
  },
  {
    name: 'h_vmem on the host of a task',
    request: 'h_vmem=600M',
    pe: ['tight-fixed1', 2],
    script: [...openingLines(), `qrsh -inherit -nostdin $2 '${burnersAtOnce(3, 300)}'`].join('\n'),
    causes: ['h_vmem'],
    sentence: /Grid Engine's own kill at h_vmem\. It held .* of the 600 MiB allowed on ge[12]/,
    // Its execd allows one slot more if the script takes none.
    onOcs: null,
    next: /^qsub -l h_vmem=(9\d\dM|1(\.\d)?G)$/,
  },
  {
    name: 'CPU time',
    request: 'h_vmem=1G,h_cpu=3',
    script: 'while :; do :; done',
    causes: ['cpu-time'],
    sentence: /the limit of CPU time \(h_cpu\)\. It used [\d.]+ s CPU time of the 3 s of h_cpu/,
  },
  {
    name: 'qdel',
    request: 'h_vmem=1G,h_rt=600',
    script: `${SAMPLED}; sleep 600`,
    then: ({ cell }, job) => cell.check(cell.master, [client('qdel'), job]),
    causes: ['deleted'],
    sentence:
      /Possible cause: qdel\. SIGKILL came at .* failed 100, as for a deleted job; it had used [\d.]+ % of h_vmem/,
    onOcs: /Grid Engine says that root@ge0 deleted it/,
  },
  {
    name: 'a crash of the program',
    request: 'h_vmem=1G',
    script: `${SAMPLED}; kill -SEGV $$`,
    causes: ['crash'],
    sentence: /a crash of the program\. SIGSEGV at .*; it had used [\d.]+ % of h_vmem/,
  },
  {
    name: "a child's crash, which the shell's exit status shows",
    request: 'h_vmem=1G',
    script: `${SAMPLED}; perl -e 'kill 11, $$'; exit $?`,
    causes: ['crash'],
    sentence: /Exit status 139 \(means SIGSEGV\)/,
  },
  {
    name: 'kill -9 of a child',
    request: 'h_vmem=1G,h_rt=600',
    script: `${SAMPLED}; perl -e 'kill 9, $$'; exit $?`,
    causes: ['node-out-of-memory', 'signalled'],
    sentence:
      /killer, for a full node \(.*\) or a signal .* \(a process of the job was killed and its shell was not\)\. Evidence needed: the kernel's log on ge[12] \(journalctl -k\) or the job's own output/,
  },
  {
    name: 'a failure of the job itself',
    request: 'h_vmem=1G',
    script: `${SAMPLED}; exit 3`,
    causes: ['own-error'],
    sentence: /a failure of the job itself\. It ended by itself with exit status 3; it had used [\d.]+ % of h_vmem/,
  },
];

const CASES = ALL_CASES.filter(({ onOcs, onlyOnOcs }) =>
  kind.dialect === 'ocs' ? onOcs !== null : onlyOnOcs === undefined,
);

async function check(site: Site, one: Case, job: string, say: (text: string) => void): Promise<void> {
  const records = await recordsOf(site, job);
  const details = (why: Why | null): string =>
    `${JSON.stringify(why, null, 1)}\n${JSON.stringify(
      records.map((record) => ({ ...record, series: null })),
      null,
      1,
    )}`;
  // Grid Engine's kind is known here; "unknown" is what an installation has that did not ask for it.
  for (const dialect of [kind.dialect, 'unknown'] as const) {
    const why = whyEnded(records, undefined, dialect);
    assert.deepEqual(why?.causes, one.causes, details(why));
    assert.match(why.sentence, (kind.dialect === 'ocs' ? one.onOcs : null) ?? one.sentence, details(why));
    const next = nextTime(records, [why])?.line ?? '';
    say(`${dialect}: ${why.sentence} ${next}`);
    assert.match(next, one.next ?? /^(qsub -l h_vmem=\S+)?$/);
  }
}

async function unwritableOutput(site: Site, job: string): Promise<void> {
  const why = whyEnded(await recordsOf(site, job));
  assert.deepEqual([why?.causes, why?.confidence], [['never-ran'], 'certain'], JSON.stringify(why));
  assert.match(
    why?.sentence ?? '',
    /^It never ran: an output file could not be opened on ge[12] \(failed 26\): qsub -o/,
  );
}

async function screenShowsCause({ cell, product }: Site, job: string): Promise<void> {
  // The installation found out the kind of Grid Engine.
  assert.match(
    await cell.check('ge1', ['cat', SETTINGS_FILE]),
    new RegExp(`^grid_engine = "${kind.dialect.replaceAll('.', '\\.')}"$`, 'm'),
  );
  const { stdout, stderr } = await product.run('ge1', 'job', job, '--full', '--accounting', product.accounting);
  const text = stdout.replace(/\s+/g, ' ');
  assert.match(
    text,
    /Probable cause: Grid Engine's kill at h_rt\. It ran .* Next time: qsub -l h_vmem=1G,h_rt=0:01:00/,
    stderr,
  );
  const isOcs = kind.dialect === 'ocs';
  // maxvmem is missing if the job was over before execd looked.
  if (/ maxvmem \S/.test(text))
    assert.match(
      text,
      isOcs ? /address spaces of all processes maxrss .* RSS of all processes/ : /RSS and swap of all processes maxrss/,
    );
  const verdict = isOcs ? /Grid Engine says deleted by execd@ge[12]/ : /Grid Engine says failed 37/;
  assert.match(text, new RegExp(`Ended killed by SIGKILL .* not qdel.*: ${verdict.source}`));
}

describe('the cause of a bad end, on a real Grid Engine', () => {
  it('is found from the record and its accounting line', { timeout: 2_000_000 }, async (t) => {
    await withSite(
      t,
      { settings: 'scope = "node"\ndelivery_jitter_ms = 0\ninterval = 0.1\ncpu_budget_percent = 100' },
      async (site) => {
        const { cell } = site;
        const unwritable = await cell.submit(USER, ['-N', 'unwritable', '-o', '/no/such/place/out'], 'sleep 1');
        const jobs = await Promise.all(
          CASES.map(({ request, pe, script }, index) => {
            const parallel = pe === undefined ? [] : ['-pe', pe[0], String(pe[1])];
            return cell.submit(USER, ['-N', `case${index}`, '-l', request, ...parallel], script);
          }),
        );
        await Promise.all(
          CASES.map(async ({ script, then }, index) => {
            const job = jobs[index] ?? '';
            if (!script.includes('.sampled')) return;
            await awaitFigures(cell, job);
            writeFileSync(join(cell.layout.home(USER), `case${index}.sampled`), '');
            await then?.(site, job);
          }),
        );
        const parallel = CASES.findIndex(({ pe }) => pe !== undefined);
        if (parallel !== -1) await tasksAreFoundByJobName(site, jobs[parallel] ?? '', `case${parallel}`);
        await importAllLines(site, jobs, unwritable);
        for (const [index, one] of CASES.entries())
          await t.test(`for ${one.name}`, (test) =>
            check(site, one, jobs[index] ?? '', (text) => test.diagnostic(text)),
          );
        await t.test('for a job that never ran, since its output file could not be opened', () =>
          unwritableOutput(site, unwritable),
        );
        await t.test('and shown by qmemacct job', () =>
          screenShowsCause(site, jobs[CASES.findIndex(({ causes }) => causes.includes('h_rt'))] ?? ''),
        );
      },
    );
  });
});
