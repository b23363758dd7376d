import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { openSqliteStore } from '../../src/accounting/sqlite/sqlite-store';
import { Predictor } from '../../src/advice/predictor';
import { MEMORY_PRIOR } from '../../src/advice/prior';
import { bySubmission, replay } from '../../src/advice/replay';
import { ownStorePath } from '../../src/cli/stores/stores';
import { asStored } from '../../src/record/merge';
import type { JobRecord } from '../../src/record/record';
import { pastRuns } from '../../src/report/advice/past-runs';
import { renderReplayJson } from '../../src/report/advice/replay';
import { needing, pastJobs, stoppedAtLimit } from '../report/past-jobs';
import { mpiMaster, mpiTask } from '../report/sample-records';
import { runCommand, type Answer } from '../support/qmemacct';
import { temporaryDirectory } from '../support/temporary-directory';

const runReplay = (config: string, words: readonly string[], env: NodeJS.ProcessEnv): Promise<Answer> =>
  runCommand(['--config', config, 'replay', ...words], { env: { COLUMNS: '120', LANG: 'C.UTF-8', ...env } });

/** An accounting DB with these records; returns what runs `qmemacct replay` on it. */
async function site(
  records: readonly JobRecord[],
  env: NodeJS.ProcessEnv = {},
): Promise<(...words: readonly string[]) => Promise<Answer>> {
  const directory = temporaryDirectory();
  const config = join(directory, 'qmemacct.toml');
  writeFileSync(config, `accounting = "${directory}/site.db"\n`);
  const store = openSqliteStore(join(directory, 'site.db'), 0o600);
  await store.merge(records);
  await store.close();
  return (...words) => runReplay(config, words, env);
}

const SECOND = 1000;
const FIRST = Date.parse('2026-11-01T10:00:00Z');
const time = (seconds: number): string => new Date(FIRST + seconds * SECOND).toISOString();

/** Serial jobs, one per second: more than are read at once. */
const serial = pastJobs(1200, (index) => ({
  ...needing(7 + ((index * 7) % 10) / 10),
  pe: null,
  slots: 1,
  host_slots: 1,
  submitted_at: time(index),
  started_at: time(index + 1),
  ended_at: time(index + 300),
}));

/** Parallel jobs on two hosts, whose slave tasks end long before the jobs do. */
const parallel = Array.from({ length: 10 }, (_, index): readonly JobRecord[] => {
  const begin = index * 20;
  const master = {
    ...mpiMaster(2),
    job_id: 9000 + index,
    run_id: `badcafe.9000.${index}`,
    submitted_at: time(begin),
    started_at: time(begin + 1),
    ended_at: time(begin + 1200),
  };
  const tasks = [1, 2].map((number) => ({
    ...mpiTask(number),
    job_id: master.job_id,
    run_id: `badcafe.900${number}.${index}`,
    started_at: time(begin + 2),
    ended_at: time(begin + 310),
  }));
  return [master, ...tasks];
}).flat();

describe('qmemacct replay', () => {
  it('keeps within the width of the terminal, and to ASCII in the C locale', async () => {
    const jobs = pastJobs(40);
    for (const COLUMNS of ['60', '80', '200']) {
      const replay = await site(jobs, { COLUMNS, LC_ALL: 'C' });
      const { output } = await replay('--since', '2026-10-01');
      assert.match(output, /Unused GiB-h/);
      assert.deepEqual(
        output.split('\n').filter((line) => line.length > Number(COLUMNS) || /[^\x20-\x7e]/.test(line)),
        [],
      );
    }
  });

  it("replays the advice on the jobs of the accounting DB, beside their users' requests", async () => {
    const replay = await site(pastJobs(40));
    const shown = await replay('--since', '2026-10-01', '--risk', '5');
    assert.equal(shown.status, 0, shown.warnings);
    assert.match(shown.output, /^accounting DB: 40 jobs, 37 with 3 earlier runs or more$/m);
    assert.match(shown.output, /^advice, risk up to 5.0 % +37 +3\.92 % +0\.00 %/m);
    assert.match(shown.output, /^users' requests +37 +0\.00 %/m);
    assert.match(
      (await replay('--since', '2026-10-01', '--csv')).output,
      /^name,request,risk,[^]*\naccounting DB,users,,37,0,/,
    );
    const json = JSON.parse((await replay('--since', '2026-10-01', '--risk', '5', '--json')).output) as {
      readonly replays: readonly {
        readonly advisable: number;
        readonly advice: readonly { readonly risk: number }[];
      }[];
    };
    assert.equal(json.replays[0]?.advisable, 37);
    assert.equal(json.replays[0].advice[0]?.risk, 0.05);
  });

  it('counts runs that were stopped below a request as undecided', async () => {
    const replay = await site(pastJobs(40, (index) => (index % 10 === 9 ? stoppedAtLimit() : needing(7))));
    const { output } = await replay('--since', '2026-10-01', '--risk', '20');
    assert.match(output, /^Request +Jobs +Stated risk +Failed +Jobs failed +Undecided +Unused GiB·h/m);
    assert.match(output, /^users' requests +37 +10\.81 % +4 +\d/m);
    assert.match(output, /^last run \+ 20 % +33 +0\.00 % +0 +4 +\d/m);
    assert.match(output.replace(/\s+/g, ' '), /Undecided, and not counted among the jobs: those that were stopped/);
    assert.match(
      (await replay('--since', '2026-10-01', '--csv')).output,
      /,undecided\n[^]*,last run \+ 20 %,,33,0,,.*,4\n/,
    );
    const json = JSON.parse((await replay('--since', '2026-10-01', '--json')).output) as {
      readonly replays: readonly { readonly rules: readonly { readonly jobs: number; readonly undecided: number }[] }[];
    };
    const [rule] = json.replays[0]?.rules ?? [];
    assert.deepEqual([rule?.jobs, rule?.undecided], [33, 4]);

    const all = await site(pastJobs(40, stoppedAtLimit));
    const { output: stopped } = await all('--since', '2026-10-01');
    assert.doesNotMatch(stopped, /^advice/m);
    assert.match(stopped, /^last run \+ 20 % +0 +37$/m);
    assert.match(stopped, /^users' requests +37 +100\.00 % +37 +\d/m);
    const whole = await site(pastJobs(40));
    assert.doesNotMatch((await whole('--since', '2026-10-01')).output, /Undecided/);
  });

  it('explains a line of its table only where it prints that line', async () => {
    const one = await site(pastJobs(1));
    assert.equal(
      (await one('--since', '2026-10-01')).output,
      'accounting DB: 1 job, 0 with 3 earlier runs or more\n\n',
    );
    const few = await site(pastJobs(40));
    const { output } = await few('--since', '2026-10-01');
    assert.equal(output.includes('"At a larger risk"'), /^ {2}at a larger risk/m.test(output));
  });

  it('replays all runs, and a parallel job with all of its tasks, though they are read in several pages', async () => {
    const records = [...serial, ...parallel];
    const replayed = await site(records);
    const { output } = await replayed('--since', '2026-11-01', '--until', '2026-11-02', '--json');
    const runs = pastRuns(records.map(asStored));
    assert.equal(runs.length, 1210);
    // The run that ended last is read first: in this order the floating-point sums agree to the last digit.
    const ordered = runs.toSorted((a, b) => b.end - a.end);
    const expected = replay(bySubmission(ordered), [0.01, 0.02, 0.05], new Predictor(MEMORY_PRIOR));
    assert.equal(output, renderReplayJson(new Map([['accounting DB', expected]])));
  });

  it('escapes control characters in the name of a trace', () => {
    const nothing = replay([], [0.01], new Predictor(MEMORY_PRIOR));
    assert.match(renderReplayJson(new Map([['trace \u009b2J.csv', nothing]])), /"name":"trace \\u009b2J\.csv"/);
  });

  it('counts a job that two accounting DBs have only once', async () => {
    const directory = temporaryDirectory();
    const config = join(directory, 'qmemacct.toml');
    writeFileSync(config, `accounting = "${directory}/site.db"\n`);
    mkdirSync(join(directory, 'qmemacct'));
    for (const path of [join(directory, 'site.db'), ownStorePath({ XDG_STATE_HOME: directory })]) {
      const store = openSqliteStore(path, 0o600);
      await store.merge(pastJobs(40));
      await store.close();
    }
    const { output } = await runReplay(config, ['--since', '2026-10-01'], { XDG_STATE_HOME: directory });
    assert.match(output, /^accounting DB: 40 jobs, 37 with 3 earlier runs or more$/m);
  });

  it('explains an empty result, and what is wrong with its options', async () => {
    const replay = await site([]);
    const none = await replay();
    assert.deepEqual([none.status, none.output], [1, '']);
    assert.match(
      none.warnings,
      /^qmemacct: replay: no job of this time has a known memory need; --since 365d looks further back$/m,
    );
    assert.match((await replay('--since', '365d')).warnings, /no job of this time has a known memory need$/m);
    for (const option of ['--since', '--until']) {
      const both = await replay('--trace', '/nowhere', option, '7d');
      assert.equal(both.status, 2);
      assert.match(both.warnings, new RegExp(`'--trace <file>' cannot be used with option '${option} <time>'`));
    }
    const risk = await replay('--risk', '1,many');
    assert.equal(risk.status, 2);
    assert.match(risk.warnings, /--risk: "many" is not a percentage from 0.1 to 50/);
    const file = await replay('--trace', '/nowhere.csv');
    assert.equal(file.status, 3);
    assert.match(file.warnings, /^qmemacct: \/nowhere\.csv: .*no such file/);
  });
});
