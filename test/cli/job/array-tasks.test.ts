import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { openSqliteStore } from '../../../src/accounting/sqlite/sqlite-store';
import type { ArrayProgress } from '../../../src/report/job/array-progress';
import type { JobRecord } from '../../../src/record/record';
import { arrayOfTwenty } from '../../report/sample-records';
import { qmemacctMeanwhile } from '../../support/qmemacct';
import { temporaryDirectory } from '../../support/temporary-directory';

const directory = temporaryDirectory();

const HOUR = 3_600_000;
const JOB = '4720';

const row = (state: 'running' | 'pending', tasks: string): string =>
  `<job_list state="${state}"><JB_job_number>${JOB}</JB_job_number><JB_name>sweep</JB_name><JB_owner>bob</JB_owner>` +
  `<state>${state === 'running' ? 'r' : 'qw'}</state><slots>1</slots><tasks>${tasks}</tasks></job_list>`;

const qstatXml = (rows: string): string => `<?xml version='1.0'?>
<job_info xmlns:xsd="http://arc.liv.ac.uk/repos/darcs/sge/source/dist/util/resources/schemas/qstat/qstat.xsd">
<queue_info>${rows}</queue_info><job_info></job_info></job_info>`;

/** Tasks 1 and 2 ended `age` ms ago. Task 3 was seen running then, or has ended, too, if `all`. */
function records(age: number, all = false): readonly JobRecord[] {
  const now = Date.now();
  return arrayOfTwenty.slice(0, 3).map((record, index): JobRecord => {
    const runs = index === 2 && !all;
    const times = {
      submitted_at: new Date(now - age - 2 * HOUR).toISOString(),
      started_at: new Date(now - age - HOUR).toISOString(),
      ended_at: runs ? null : new Date(now - age).toISOString(),
      revision: now - age,
    };
    const ended = runs ? { status: 'running' as const, exit_status: null, signal: null } : {};
    return { ...record, cluster: 'c', ...times, ...ended };
  });
}

/** A site whose qstat is this shell code and whose accounting DB has these records; its environment. */
async function makeSite(name: string, qstat: string, stored: readonly JobRecord[]): Promise<NodeJS.ProcessEnv> {
  const site = join(directory, name);
  const [bin, runtime, config] = [join(site, 'bin'), join(site, 'runtime'), join(site, 'settings.toml')];
  mkdirSync(bin, { recursive: true });
  mkdirSync(runtime, { mode: 0o700 });
  for (const client of ['qstat', 'qhost'])
    writeFileSync(join(bin, client), `#!/bin/sh\necho "${client} $*" >>"${site}/asked"\n${qstat}\n`, { mode: 0o755 });
  const database = join(site, 'accounting.db');
  writeFileSync(config, `cluster = "c"\naccounting = "${database}"\nrun_dir = "${site}"\nserve_socket = "${site}/s"\n`);
  writeFileSync(join(site, 'running.xml'), qstatXml(row('running', '3')));
  writeFileSync(join(site, 'pending.xml'), qstatXml(row('pending', '4-20:1')));
  const store = openSqliteStore(database, 0o600);
  assert.ok((await store.merge(stored)).every(({ ok }) => ok));
  await store.close();
  const PATH = `${bin}:${process.env.PATH ?? ''}`;
  return { ...process.env, PATH, XDG_RUNTIME_DIR: runtime, LC_ALL: 'C.UTF-8', SGE_ROOT: '', CONFIG: config };
}

const answersFor = (name: string): string =>
  `case " $* " in *" -s p "*) exec cat "${directory}/${name}/pending.xml";; *) exec cat "${directory}/${name}/running.xml";; esac`;

async function job(env: NodeJS.ProcessEnv, ...words: readonly string[]): Promise<string> {
  const said = await qmemacctMeanwhile(['job', ...words, '--config', env.CONFIG ?? ''], { env });
  assert.deepEqual([said.status, said.stderr], [0, '']);
  return said.stdout;
}

/** The output, once qstat has answered in time; on a busy machine that may take several tries. */
async function answered(env: NodeJS.ProcessEnv, ...words: readonly string[]): Promise<string> {
  for (let tries = 1; ; tries++) {
    const text = await job(env, JOB, ...words);
    if (LINE.test(text) || /"to_come":\d/.test(text) || tries === 30) return text;
  }
}

async function arrays(env: NodeJS.ProcessEnv, ...words: readonly string[]): Promise<readonly ArrayProgress[]> {
  const said = JSON.parse(await job(env, ...words, '--json')) as { readonly arrays?: readonly ArrayProgress[] };
  return said.arrays ?? [];
}

const LINE = / tasks have ended, .* to come/;
const known = { cluster: 'c', job_id: Number(JOB), ended: 2, running: 1 };
const asked = (name: string): string => {
  const file = join(directory, name, 'asked');
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
};

/** Asserts that no count is shown, until qstat was asked; on a busy machine its time may be over before it starts. */
async function unanswered(name: string, env: NodeJS.ProcessEnv): Promise<void> {
  for (let tries = 1; asked(name) === ''; tries++) {
    assert.ok(tries <= 30);
    assert.doesNotMatch(await job(env, JOB), LINE);
  }
  assert.match(asked(name), /^qstat/);
}

describe('qmemacct job for an array job with tasks to come', () => {
  it('says how many tasks are to come, by the lists of qstat alone', async () => {
    const env = await makeSite('waits', answersFor('waits'), records(HOUR));
    assert.match(await answered(env), /\n {2}2 of 20 tasks have ended, 1 runs, 17 to come\n$/);
    assert.match(await answered(env, '--json'), /"arrays":\[\n{"cluster":"c",.*"ended":2,"running":1,"to_come":17}\n]/);
    assert.deepEqual(
      new Set(asked('waits').match(/^.*? -s \S+/gm)),
      new Set(['qstat -u * -s rs', 'qstat -u * -s p']),
      asked('waits'),
    );
    assert.doesNotMatch(asked('waits'), /qhost|-j/);
  });

  it('says how many of thousands of tasks are to come', async () => {
    const [first] = records(HOUR);
    assert.ok(first !== undefined);
    const ended = Array.from({ length: 1200 }, (_, index) => ({
      ...first,
      task_id: index + 1,
      run_id: `5e6f7a8b.${index + 1}.1`,
    }));
    const env = await makeSite('many', answersFor('many'), ended);
    writeFileSync(join(directory, 'many', 'running.xml'), qstatXml(row('running', '1201')));
    writeFileSync(join(directory, 'many', 'pending.xml'), qstatXml(row('pending', '1202-3000:1')));
    assert.match(await answered(env), /\n {2}1,200 of 3,000 tasks have ended, 1 runs, 1,799 to come\n$/);
  });

  it('does not ask qstat for a task that has ended, for one line among several jobs, for another accounting DB, or for CSV', async () => {
    const [other] = records(HOUR);
    assert.ok(other !== undefined);
    const another = { ...other, job_id: Number(JOB) + 1, task_id: null, run_id: '5e6f7a8b.1.1' };
    const env = await makeSite('unasked', answersFor('unasked'), [...records(HOUR), another]);
    assert.deepEqual(await arrays(env, `${JOB}.3`), []);
    assert.doesNotMatch(await job(env, `${JOB}.2`), LINE);
    const database = join(directory, 'unasked', 'accounting.db');
    assert.deepEqual(await arrays(env, JOB, '--accounting', database), [{ ...known, to_come: null }]);
    await job(env, JOB, '--csv');
    assert.match(await job(env, JOB, String(another.job_id)), /^job .*\n.*×3 .*\n/);
    assert.equal(asked('unasked'), '');
  });

  it('does not ask qstat about an array job without news for days', async () => {
    const env = await makeSite('old', answersFor('old'), records(100 * HOUR, true));
    assert.deepEqual(await arrays(env, JOB), [{ ...known, ended: 3, running: 0, to_come: null }]);
    assert.equal(asked('old'), '');
  });

  it('leaves the line out where qstat fails', async () => {
    const env = await makeSite('silent', 'echo "error: commlib error" >&2; exit 1', records(HOUR));
    await unanswered('silent', env);
    assert.deepEqual(await arrays(env, JOB), [{ ...known, to_come: null }]);
  });

  it('does not wait for a qstat or a server that does not answer', async () => {
    const env = await makeSite('hangs', 'exec sleep 600', records(HOUR));
    await unanswered('hangs', env);
    const before = asked('hangs');
    let calls = 0;
    const server = createServer(() => {
      calls++;
    }).listen(join(directory, 'hangs', 's'));
    await once(server, 'listening');
    try {
      assert.deepEqual(await arrays(env, JOB), [{ ...known, to_come: null }]);
      assert.ok(calls > 0);
      assert.equal(asked('hangs'), before);
    } finally {
      server.close();
    }
  });
});
