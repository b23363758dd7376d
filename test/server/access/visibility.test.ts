import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { openSqliteStore } from '../../../src/accounting/sqlite/sqlite-store';
import type { JobRecord } from '../../../src/record/record';
import { tenMinutesOf, modest } from '../../report/bad-ends';
import { openBracket, ordinary } from '../../report/sample-records';
import { temporaryDirectory } from '../../support/temporary-directory';
import { asUser, DAEMON, NOBODY, notRoot, qmemacct, startServing } from '../../support/qmemacct';

const ago = (hours: number): string => new Date(Date.now() - hours * 3_600_000).toISOString();

function job(job_id: number, owner: string, project: string | null, more: Partial<JobRecord> = {}): JobRecord {
  const times = { submitted_at: ago(4), started_at: ago(3), ended_at: ago(1), revision: Date.now() - 3_600_000 };
  return { ...ordinary, ...times, job_id, owner, project, job_name: `work-of-${owner}`, ...more };
}

/** nobody and daemon share "genome"; "secret" is daemon's; jobs without a project are shared with nobody. */
const RECORDS = [
  job(1, 'nobody', 'genome'),
  job(2, 'daemon', 'genome'),
  job(3, 'daemon', 'secret'),
  job(4, 'daemon', 'NONE'),
  job(5, 'nobody', 'NONE'),
  // A self-reported project gives access to nothing.
  job(6, 'nobody', 'secret', { trust: 'self-reported' }),
];

type RunAs = (uid: number, ...words: readonly string[]) => ReturnType<typeof qmemacct>;

/** Prints the server's answer for a path; a program of its own, so that it can run as another user. */
const ASK = `
const [socketPath, path] = process.argv.slice(2);
require('node:http').get({ socketPath, path }, (answer) => answer.pipe(process.stdout));
`;

interface Serving {
  readonly run: RunAs;
  readonly ask: (uid: number, path: string) => unknown;
}

/** A site with these settings, whose accounting DB only root can read, and its server. */
async function servingAll(
  t: TestContext,
  records: readonly JobRecord[],
  ...settings: readonly string[]
): Promise<Serving> {
  const directory = temporaryDirectory(0o755);
  const database = join(directory, 'accounting.db');
  const config = join(directory, 'qmemacct.toml');
  const lines = [
    `accounting = "${database}"`,
    `run_dir = "${directory}/none"`,
    `serve_socket = "${join(directory, 'serve.sock')}"`,
    'serve_port = 0',
    'cluster = "biology"',
  ];
  writeFileSync(config, [...lines, ...settings].join('\n'));
  const store = openSqliteStore(database, 0o600);
  await store.merge(records);
  await store.close();
  await startServing(t, config);
  const requester = join(directory, 'ask.cjs');
  writeFileSync(requester, ASK);
  return {
    run: (uid, ...words) => qmemacct(['--config', config, ...words], { uid }),
    ask: (uid, path) => {
      const [program, ...rest] = [...asUser(uid), process.execPath, requester, join(directory, 'serve.sock'), path];
      return JSON.parse(spawnSync(program, rest, { encoding: 'utf8' }).stdout) as unknown;
    },
  };
}

const serving = async (t: TestContext, ...settings: readonly string[]): Promise<RunAs> =>
  (await servingAll(t, RECORDS, ...settings)).run;

const GIB = 1024 ** 3;

/** A job of daemon's, stopped at h_rt, with secrets in its options, its program and its notes. */
const STOPPED: JobRecord = {
  ...job(8, 'daemon', 'genome'),
  ...{ pe: null, slots: 1, host_slots: 1, granted_hosts: null, wallclock_seconds: 600 },
  ...{ h_vmem: modest.h_vmem, requests: {}, peak_rss_swap: openBracket(GIB, null, 'secret-program') },
  ...{ peak_process_vmem: openBracket(2 * GIB, null, 'secret-program') },
  exit_status: 137,
  signal: 9,
  grid_engine: tenMinutesOf({ category: '-U secret-list -l h_rt=600,h_vmem=4G', maxvmem_bytes: GIB }),
  notes: ['secret-note'],
};

interface Answer {
  readonly causes?: readonly {
    readonly causes: readonly string[];
    readonly sentence: string;
    readonly explanations: readonly { readonly evidence: string }[];
    readonly next_time: string | null;
  }[];
  readonly status?: number;
}

const numbers = ({ status, stdout, stderr }: ReturnType<RunAs>): readonly number[] => {
  assert.equal(status, 0, stderr);
  const { records } = JSON.parse(stdout) as { readonly records: readonly { readonly job_id: number }[] };
  return records.map(({ job_id: id }) => id).toSorted((a, b) => a - b);
};

interface Top {
  readonly groups: readonly { readonly key: string | null; readonly totals: { readonly records: number } }[];
  readonly totals: { readonly records: number };
}

/** The keys of a ranking with their numbers of records, and the number of all records. */
const ranked = ({ status, stdout, stderr }: ReturnType<RunAs>): unknown => {
  assert.equal(status, 0, stderr);
  const { groups, totals } = JSON.parse(stdout) as Top;
  const pairs = groups.map(({ key, totals: own }) => [key, own.records]);
  return [Object.fromEntries(pairs), totals.records];
};

describe('two users of a site, through its server,', { skip: notRoot }, () => {
  for (const setting of ['visibility = "own"', 'serve_names = "own"'])
    it(`see their own jobs, and sums of these, with ${setting}`, async (t) => {
      const run = await serving(t, setting);
      assert.deepEqual(numbers(run(NOBODY, 'jobs', '--json')), [1, 5, 6]);
      assert.deepEqual(numbers(run(DAEMON, 'jobs', '--json')), [2, 3, 4]);
      const top = run(NOBODY, 'top', 'owners', '--by', 'jobs', '--json');
      // Sums leave out self-reported jobs.
      assert.deepEqual(ranked(top), [{ nobody: 2 }, 2]);
      assert.match(top.stderr, /this site shows you your own jobs only/);
      assert.equal(run(NOBODY, 'job', '2').status, 3, 'nobody can be asked whether it waits');
      const stranger = run(NOBODY, 'owner', 'daemon');
      assert.equal(stranger.status, 3);
      assert.match(stranger.stderr, /this site shows you your own jobs only; ask as their owner, or as an admin\n$/);
    });

  it('see the jobs of their shared projects, and sums of these, with visibility = "project"', async (t) => {
    const run = await serving(t, 'visibility = "project"');
    assert.deepEqual(numbers(run(NOBODY, 'jobs', '--json')), [1, 2, 5, 6]);
    assert.deepEqual(numbers(run(DAEMON, 'jobs', '--json')), [1, 2, 3, 4, 6]);
    assert.deepEqual(ranked(run(NOBODY, 'top', 'owners', '--by', 'jobs', '--json')), [{ daemon: 1, nobody: 2 }, 3]);
    assert.deepEqual(ranked(run(NOBODY, 'top', 'projects', '--by', 'jobs', '--json')), [{ NONE: 1, genome: 2 }, 3]);
    assert.deepEqual(numbers(run(NOBODY, 'owner', 'daemon', '--json')), [2]);
    assert.deepEqual(numbers(run(NOBODY, 'project', 'secret', '--json')), [6]);
    assert.deepEqual(numbers(run(DAEMON, 'project', 'secret', '--json')), [3, 6]);
    assert.equal(run(NOBODY, 'job', '3').status, 3);
    assert.equal(run(NOBODY, 'job', '4').status, 3);
    assert.deepEqual(numbers(run(0, 'jobs', '--json')), [1, 2, 3, 4, 5, 6]);
  });

  it('see the jobs of others without names, with serve_names = "anonymous"', async (t) => {
    const run = await serving(t, 'serve_names = "anonymous"');
    const all = run(NOBODY, 'jobs', '--json');
    assert.deepEqual(numbers(all), [1, 2, 3, 4, 5, 6]);
    assert.doesNotMatch(all.stdout, /daemon/);
    assert.deepEqual(ranked(run(NOBODY, 'top', 'owners', '--by', 'jobs', '--json')), [{ anonymous: 3, nobody: 2 }, 5]);
    assert.equal(run(NOBODY, 'jobs', '--name', 'work-of-d*').status, 1);
    const { status, stderr } = run(NOBODY, 'owner', 'daemon');
    assert.equal(status, 3);
    assert.match(stderr, /this site shows you the jobs of others without owners; ask as their owner/);
  });

  it('see why a job was killed if they may see the job', async (t) => {
    const records = [...RECORDS, STOPPED, { ...STOPPED, job_id: 9, project: 'secret' }];
    const { run, ask } = await servingAll(t, records, 'visibility = "project"', 'grid_engine = "sge6.2"');
    for (const uid of [DAEMON, NOBODY]) {
      const [why, ...others] = (ask(uid, '/v1/job/8') as Answer).causes ?? [];
      assert.deepEqual([why?.causes, others], [['h_rt'], []]);
      assert.match(why?.sentence ?? '', /Grid Engine's kill at h_rt\. It ran 0:10:00 of the 0:10:00 of h_rt/);
      assert.equal(why?.next_time, 'qsub -l h_vmem=4G,h_rt=0:20:00');
      // The CLI gets the records from the same server and shows the same causes.
      const shown = JSON.parse(run(uid, 'job', '8', '--json').stdout) as Answer;
      assert.deepEqual(shown.causes, [why]);
    }
    assert.equal((ask(NOBODY, '/v1/job/9') as Answer).status, 404);
    assert.equal((ask(DAEMON, '/v1/job/9') as Answer).causes?.length, 1);
  });

  it('see no more of a cause than the record shows, with serve_names = "anonymous"', async (t) => {
    const { run, ask } = await servingAll(t, [...RECORDS, STOPPED], 'serve_names = "anonymous"');
    const [own] = (ask(DAEMON, '/v1/job/8') as Answer).causes ?? [];
    assert.deepEqual([own?.causes, own?.next_time], [['h_rt'], 'qsub -l h_vmem=4G,h_rt=0:20:00']);
    const answer = ask(NOBODY, '/v1/job/8') as Answer;
    assert.doesNotMatch(JSON.stringify(answer), /secret|daemon|h_rt=/);
    const [why] = answer.causes ?? [];
    assert.doesNotMatch(JSON.stringify(why), /requested no/);
    assert.match(JSON.stringify(why), /what limits it had is not known/);
    assert.equal(run(NOBODY, 'job', '8').status, 0);
    assert.doesNotMatch(run(NOBODY, 'job', '8').stdout, /secret|daemon|requested no/);
  });
});
