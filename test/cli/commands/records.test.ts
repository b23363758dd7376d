import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { AccountingReader, RecordFilter } from '../../../src/accounting/store';
import { showRecords } from '../../../src/cli/commands/records';
import { showTop } from '../../../src/cli/commands/top';
import { recordChoiceOf, type RecordFilterOptions, type RecordListOptions } from '../../../src/cli/records/options';
import { filterSubject, namedSubject, type RecordSubject } from '../../../src/cli/records/subject';
import { runProgram } from '../../../src/cli/program';
import type { Sources } from '../../../src/cli/stores/stores';
import type { Terminal } from '../../../src/cli/terminal';
import { FIELD_NAMES } from '../../../src/record/fields';
import type { JobRecord } from '../../../src/record/record';
import { LIST_FIELDS } from '../../../src/report/records/list';
import { memoryReader } from '../../accounting/memory-reader';
import { assertGolden } from '../../report/golden';
import { BAD_ENDS } from '../../report/bad-ends';
import { MANY_OWNERS } from '../../report/many-owners';
import * as samples from '../../report/sample-records';
import { fakeTerminal } from '../fake-terminal';
import { temporaryDirectory } from '../../support/temporary-directory';

process.env.TZ = 'Europe/Berlin';

/** Any readable path can stand for the store. */
const PRESENT = __filename;

function sourcesOf(reader: AccountingReader): Sources {
  return {
    open: () => Promise.resolve(reader),
    askServer: () => Promise.reject(new Error('there is none')),
    gridEngine: () => Promise.reject(new Error('there is none')),
    running: () => Promise.resolve([]),
  };
}

interface Run {
  readonly status: number;
  readonly output: string;
  readonly warnings: string;
  readonly asked: readonly RecordFilter[];
}

const LISTED: RecordListOptions = {
  config: '/nonexistent.toml',
  color: false,
  since: '2026-11-20',
  until: '2026-11-21',
  sort: 'ended',
};

const LIST: RecordListOptions = { ...LISTED, accounting: PRESENT };

async function list(
  subject: RecordSubject,
  options: Partial<RecordListOptions> = {},
  records: readonly JobRecord[] = MANY_OWNERS,
  changes: Partial<Terminal> = {},
): Promise<Run> {
  const terminal = fakeTerminal(changes);
  const asked: RecordFilter[] = [];
  const status = await showRecords(subject, { ...LIST, ...options }, terminal, sourcesOf(memoryReader(records, asked)));
  return { status, output: terminal.output(), warnings: terminal.warnings(), asked };
}

const jobs = (options: RecordFilterOptions): RecordSubject => filterSubject(recordChoiceOf(options));

/** The job numbers (47..) at the beginnings of lines. */
const numbers = ({ output }: Run): readonly string[] => output.match(/^47\d\d/gm) ?? [];

/** Four jobs: memory that grows, that is constant, without series, and a parallel job with one slave task that grows. */
function growing(): readonly JobRecord[] {
  const points = (of: (index: number) => number): JobRecord['series'] => ({
    start: samples.after(0),
    step_seconds: 42,
    others: {},
    rss_bytes: Array.from({ length: 120 }, (_, index) => of(index)),
  });
  const rising = points((index) => 1e7 * (index + 5));
  const tasks = [samples.mpiMaster(2), samples.mpiTask(1), samples.mpiTask(2)];
  return [
    { ...samples.ordinary, job_id: 4751, series: rising },
    { ...samples.ordinary, job_id: 4752, run_id: 'a.1.1', series: points(() => 1e9) },
    { ...samples.ordinary, job_id: 4753, run_id: 'a.2.1', series: null },
    ...tasks.map((record) => ({
      ...record,
      job_id: 4754,
      series: record.pe_task_id === '1.node02' ? points((index) => 1e8 * index) : null,
    })),
  ];
}

describe('a list of the jobs of a class', () => {
  const everything = jobs({});

  it('reads memory over time where the class needs it, and judges a parallel job as a whole', async () => {
    const run = await list(everything, { class: 'leak' }, growing());
    assert.deepEqual(numbers(run), ['4751', '4754']);
    assert.match(run.output, /2 jobs and array tasks, 4 records/);
  });

  it('is selected by --class in CSV and JSON, too', async () => {
    const csv = await list(everything, { class: 'leak', csv: true, tasks: true }, growing());
    assert.equal(csv.output.split('\n').length, 6);
    assert.match(csv.output, /^biology,4751,.*,leak memory-far-below$/m);
    const json = await list(everything, { class: 'memory-far-below', json: true }, growing());
    assert.match(json.output, /"classes":\{"rules_version":"[0-9a-f]{12}","found":\[\{"class":"memory-far-below"/);
  });

  it('says that there are more than are shown, where these are self-reported, too', async () => {
    const claimed = growing().map((record): JobRecord => ({ ...record, trust: 'self-reported' }));
    for (const tasks of [false, true])
      assert.match(
        (await list(everything, { limit: '1', tasks }, claimed)).output,
        /^only \d records? shown: --limit N/m,
      );
    assert.doesNotMatch((await list(everything, {}, claimed)).output, / shown: /);
  });

  it('counts no self-reported jobs', async () => {
    const [known, ...others] = growing();
    const claimed = others.map((record): JobRecord => ({ ...record, trust: 'self-reported' }));
    assert.ok(known !== undefined);
    const run = await list(everything, { class: 'leak' }, [known, ...claimed]);
    assert.deepEqual(numbers(run), ['4751', '4754']);
    assert.match(run.output, /^Jobs +1 job$/m);
    assert.match(run.output, /^3 self-reported by the owner: not in the site's sums$/m);
  });

  it('ends with status 1 where no job is of the class, and refuses an unknown class with a hint', async () => {
    assert.equal((await list(everything, { class: 'swarm' }, growing())).status, 1);
    await assert.rejects(list(everything, { class: 'leek' }), /--class: "leek" is not a class; did you mean "leak"\?/);
    await assert.rejects(
      list(everything, { class: 'zzzzzz' }),
      /--class: "zzzzzz" is not a class; known are memory-close, /,
    );
  });

  it('finds swarms of short jobs in the period', async () => {
    const swarm = Array.from({ length: 250 }, (_, index): JobRecord => ({
      ...samples.ordinary,
      job_id: 4000 + index,
      job_name: `step${index}`,
      run_id: `a.${index}.1`,
      wallclock_seconds: 5,
    }));
    const run = await list(everything, { class: 'swarm', limit: '3' }, [...swarm, ...growing()]);
    assert.match(run.output, /250 jobs and array tasks/);
  });
});

describe('a list of jobs', () => {
  it('begins with the same job at any --limit: a lost job is ordered by its start', async () => {
    const { ordinary, after } = samples;
    const lost: JobRecord = {
      ...ordinary,
      ...{ job_id: 4799, run_id: 'a.1.1', status: 'lost', ended_at: null, revision: Date.parse(after(80_000)) },
    };
    const newest = { ...ordinary, job_id: 4798, run_id: 'a.2.1', started_at: after(60), ended_at: after(120) };
    const listed = async (options: Partial<RecordListOptions>): Promise<readonly string[]> =>
      numbers(await list(jobs({}), options, [lost, newest]));
    for (const tasks of [false, true]) {
      assert.deepEqual(await listed({ tasks, limit: '1' }), ['4798']);
      assert.deepEqual(await listed({ tasks }), ['4798', '4799']);
    }
  });

  it('shows the same from the fields that it asks for as from whole records', async () => {
    const records = [...Object.values(samples), ...Object.values(BAD_ENDS)]
      .flat()
      .filter((sample): sample is JobRecord => typeof sample === 'object')
      .map((record, index) => ({ ...record, run_id: `a.${index}.1` }));
    const reader = memoryReader(records);
    const whole: AccountingReader = {
      ...reader,
      jobs: (numbers) => reader.jobs(numbers),
      records: (query) => reader.records({ ...query, fields: FIELD_NAMES }),
    };
    const shown = async (from: AccountingReader, options: Partial<RecordListOptions>): Promise<string> => {
      const terminal = fakeTerminal();
      await showRecords(jobs({}), { ...LIST, since: '2026-10-01', ...options }, terminal, sourcesOf(from));
      return terminal.output();
    };
    for (const sort of ['ended', 'ran', 'cpu', 'peak', 'requested', 'unused'])
      for (const tasks of [false, true]) {
        const options = { sort, tasks, limit: '100' };
        const output = await shown(reader, options);
        assert.ok(output.split('\n').length > 20);
        assert.equal(output, await shown(whole, options));
      }
  });
});

describe('qmemacct project, queue, host', () => {
  it('show the jobs of a project, with their owners', async () => {
    const run = await list(namedSubject('project', 'genome'));
    assert.deepEqual([run.status, run.warnings], [0, '']);
    assertGolden('project', run.output.trimEnd().split('\n'));
  });

  it('show the jobs in a queue, and in one of its instances', async () => {
    assert.match((await list(namedSubject('queue', 'all.q'))).output, /^Jobs in queue all\.q +\d+ jobs/);
    const instance = await list(namedSubject('queue', 'all.q@node08'));
    assert.match(instance.output, /^Jobs in queue all\.q@node08 +1 job\n/);
    assert.deepEqual(numbers(instance), ['4712']);
  });

  it('show the jobs on a host, by whatever spelling of its name', async () => {
    const run = await list(namedSubject('host', 'node08'));
    assert.match(run.output, /^Jobs on host node08 +1 job\n[^]*\njob +owner +name +until/);
    for (const name of ['node09', 'NODE09.cluster.example'])
      assert.match((await list(namedSubject('host', name))).output, /20 jobs and array tasks\n/, name);
    const unknown = await list(namedSubject('host', 'node10'));
    assert.equal(unknown.status, 1);
    assert.match(unknown.warnings, /^qmemacct: host node10: no job ended from /);
  });

  it('show the jobs on all hosts that match a pattern', async () => {
    const run = await list(namedSubject('host', 'node0?'));
    assert.deepEqual([run.status, run.warnings], [0, '']);
    assert.match(run.output, /^Jobs on hosts node0\? +25 jobs and array tasks, 1 running\n/);
    assert.deepEqual(numbers(await list(namedSubject('host', 'node08,nothing'))), ['4712']);
    const none = await list(namedSubject('host', 'nod0?'));
    assert.deepEqual(
      [none.status, none.warnings.split(':').slice(0, 3)],
      [1, ['qmemacct', ' host nod0?', ' no job ended from 2026-11-20 00']],
    );
    assert.match((await list(namedSubject('queue', 'all.q@node*'))).output, /^Jobs in queue all\.q@node\*/);
  });

  it('print no control characters of a name', async () => {
    const name = 'x\u001b[2Jy';
    const { warnings } = await list(namedSubject('project', name));
    assert.ok(!warnings.includes('\u001b'));
    const found = await list(namedSubject('project', name), {}, [
      { ...(MANY_OWNERS[0] ?? assert.fail()), project: name },
    ]);
    assert.match(found.output, /^Jobs of project x\\x1b\[2Jy /);
  });
});

describe('qmemacct jobs', () => {
  it('asks the store with a filter for each option', async () => {
    const { asked } = await list(
      jobs({
        owner: 'bob',
        project: 'p',
        queue: 'q',
        host: 'h',
        pe: 'smp',
        name: 'a*',
        cluster: 'c',
        state: 'finished, lost',
        failed: true,
        unsampled: true,
        peakAbove: '1G',
        peakBelow: '2g',
        limitAbove: '512M',
        limitBelow: '4.5G',
        usedAbove: '80',
        usedBelow: '120.5%',
        longerThan: '1:30:00',
      }),
    );
    assert.deepEqual(
      { ...asked.at(-1), since: 0, until: 0 },
      {
        since: 0,
        until: 0,
        sort: 'time',
        limit: 500,
        fields: LIST_FIELDS,
        owner: 'bob',
        project: 'p',
        queue: 'q',
        host: 'h',
        pe: 'smp',
        job_name: 'a*',
        cluster: 'c',
        states: ['finished', 'lost'],
        failed: true,
        sampled: false,
        peak_at_least: 2 ** 30,
        peak_at_most: 2e9,
        limit_at_least: 512 * 1024 ** 2,
        limit_at_most: 4.5 * 2 ** 30,
        share_at_least: 0.8,
        share_at_most: 1.205,
        wallclock_at_least: 5400,
      },
    );
  });

  it('finds the names of a class that a ranking writes with #', () => {
    assert.deepEqual(recordChoiceOf({ name: 'sim_#_of_#' }), { job_name: 'sim_*_of_*' });
  });

  it('takes --queue as a queue, or as a queue instance on its host', () => {
    assert.deepEqual(recordChoiceOf({ queue: 'all.q' }), { queue: 'all.q' });
    assert.deepEqual(recordChoiceOf({ queue: 'all.q@node01' }), { queue: 'all.q', host: 'node01' });
  });

  it('reads spans of time as people write them, and as Grid Engine does', () => {
    const seconds = (longerThan: string): number | undefined => recordChoiceOf({ longerThan }).wallclock_at_least;
    assert.deepEqual(['30m', '2h', '1d', '90', '::30', '24:00:00'].map(seconds), [1800, 7200, 86_400, 90, 30, 86_400]);
  });

  it('refuses a wrong value in a line that names the option', () => {
    const bad: readonly (readonly [RecordFilterOptions, RegExp])[] = [
      [{ state: 'done' }, /^--state: "done"/],
      [{ peakAbove: 'much' }, /^--peak-above: "much"/],
      [{ peakAbove: '-1G' }, /^--peak-above: "-1G"/],
      [{ limitBelow: 'INFINITY' }, /^--limit-below/],
      [{ usedAbove: 'half' }, /^--used-above/],
      [{ longerThan: '1k' }, /^--longer-than/],
      [{ longerThan: '' }, /^--longer-than/],
      [{ sampled: true, unsampled: true }, /exclude each other/],
      [{ queue: 'all.q@node01', host: 'node02' }, /^--queue: "all\.q@node01" names a host: leave --host out$/],
    ];
    for (const [options, message] of bad) assert.throws(() => recordChoiceOf(options), { message });
  });

  it('shows its filter in the heading, and the jobs that match', async () => {
    const run = await list(jobs({ failed: true, limitAbove: '3G' }));
    assert.match(run.output, /^Jobs: failed, limit at least 3\.00 GiB +1 job\n/);
    assert.deepEqual(numbers(run), ['4712']);
    assert.equal((await list(jobs({ owner: 'nobody' }))).status, 1);
  });

  it('refuses to sort or collect more records than it can hold', async () => {
    const reader = memoryReader(MANY_OWNERS);
    const many: AccountingReader = {
      ...reader,
      records: async (query) => {
        const { records, totals } = await reader.records(query);
        return { records, totals: { ...totals, records: 10_000_000 } };
      },
    };
    const run = (options: Partial<RecordListOptions>): Promise<number> =>
      showRecords(jobs({}), { ...LIST, ...options }, fakeTerminal(), sourcesOf(many));
    const refusal = /10,000,000 records are more than can be shown at once \(200,000\); .* --limit/;
    for (const options of [
      { json: true, sort: 'cpu' },
      { sort: 'cpu', limit: '5' },
    ])
      await assert.rejects(run(options), refusal);
    assert.equal(await run({}), 0);
    assert.equal(await run({ json: true, limit: '5' }), 0);
    assert.equal(await run({ json: true }), 0);
  });

  it('shows the chosen columns, all of them where the width is unknown', async () => {
    const columns = 'job,peak,owner,project,started,submitted,request,cpu_time,read,written,ended,host,queue,peak';
    const piped = await list(jobs({}), { columns });
    assert.match(
      piped.output,
      /\njob +peak +owner +project +started +submitted +request +CPU time +read +written +ended +host +queue\n/,
    );
    const narrow = await list(jobs({}), { columns }, MANY_OWNERS, { isTTY: true, columns: 70 });
    assert.match(narrow.output, /\nno room for request, [^]*ended/);
    assert.ok(narrow.output.split('\n').every((line) => line.length <= 70));
    const help = await list(jobs({}), { columns: 'help', accounting: '/nonexistent' });
    assert.match(help.output, /^--columns +heading +says\n/);
    await assert.rejects(list(jobs({}), { columns: 'job,toString' }), /"toString" is not a column; --columns help/);
    await assert.rejects(list(jobs({}), { columns: 'job', json: true }), /--columns is for people/);
  });

  it('shows the records of several stores together', async () => {
    const home = temporaryDirectory();
    mkdirSync(join(home, 'qmemacct'));
    // The reader is a fake: it is enough that there is a file.
    writeFileSync(join(home, 'qmemacct', 'accounting.db'), '');
    writeFileSync(join(home, 'qmemacct.toml'), `accounting = "${PRESENT}"\n`);
    const terminal = fakeTerminal();
    const [first, ...others] = MANY_OWNERS;
    const halves = [first === undefined ? [] : [first], others];
    const sources: Sources = {
      ...sourcesOf(memoryReader([])),
      open: () => Promise.resolve(memoryReader(halves.shift() ?? [])),
    };
    const config = { ...LISTED, config: join(home, 'qmemacct.toml') };
    const env = { LANG: 'C.UTF-8', XDG_STATE_HOME: home };
    const at = { ...terminal, env };
    assert.equal(await showRecords(namedSubject('owner', 'bob'), config, at, sources), 0);
    assert.match(terminal.output(), /^Jobs of bob +1 job\n/);
    halves.push(first === undefined ? [] : [first], others);
    // The user's own store counts self-reported records, too.
    assert.equal(await showTop('owners', { ...config, by: 'jobs' }, at, sources), 0);
    assert.match(
      terminal.output(),
      /Top owners by jobs +26 jobs and array tasks\n[^]*\ndave +20 [^]*\nalice +2 [^]*\nbob +1 /,
    );
  });
});

describe('where records are kept for some days', () => {
  const file = join(temporaryDirectory(), 'qmemacct.toml');
  writeFileSync(file, `accounting = "${PRESENT}"\nkeep_records_days = 30\n`);
  const config = { ...LIST, config: file, since: '2026-01-01' };
  const sources = sourcesOf(memoryReader(MANY_OWNERS));

  it('a list says so of a longer period, and does not say that no job ended before', async () => {
    const terminal = fakeTerminal();
    assert.equal(await showRecords(jobs({}), config, terminal, sources), 0);
    assert.match(terminal.warnings(), /jobs from before 2026-\d\d-\d\d UTC are not listed: .* kept 30 days/);
    const before = fakeTerminal();
    await showRecords(jobs({}), { ...config, until: '2026-01-31' }, before, sources);
    assert.match(before.warnings(), /not listed/);
    assert.doesNotMatch(before.warnings(), /no job ended/);
  });

  it('a ranking says so where sums of days do not answer it', async () => {
    const failed = fakeTerminal();
    const top = (filter: RecordFilterOptions) => ({ ...config, by: 'jobs', ...filter });
    await showTop('owners', top({ failed: true }), failed, sources);
    assert.match(failed.warnings(), /are not counted: .* kept 30 days/);
    const summed = fakeTerminal();
    await showTop('owners', top({ project: 'sweeps' }), summed, sources);
    assert.equal(summed.warnings(), '');
  });
});

describe('qmemacct top', () => {
  const options = { ...LIST, by: 'unused' };
  const top = async (what: string, changes: Partial<typeof options> & RecordFilterOptions = {}): Promise<Run> => {
    const terminal = fakeTerminal();
    const asked: RecordFilter[] = [];
    const sources = sourcesOf(memoryReader(MANY_OWNERS, asked));
    const status = await showTop(what, { ...options, ...changes }, terminal, sources);
    return { status, output: terminal.output(), warnings: terminal.warnings(), asked };
  };

  it('ranks owners, projects, queues, hosts and names', async () => {
    for (const [what, first] of [
      ['owners', /\ndave /],
      ['projects', /\nsweeps /],
      ['queues', /\nall\.q /],
      ['hosts', /\nnode09\.clu/],
      ['names', /\nsweep /],
    ] as const) {
      const run = await top(what, { by: 'jobs' });
      assert.match(run.output, new RegExp(`^Top ${what} by jobs`));
      assert.match(run.output, first);
    }
  });

  it('takes the filters of "jobs", and --limit', async () => {
    const run = await top('owners', { project: 'genome', limit: '1' });
    assert.match(run.output, /^Top owners by unused memory +3 jobs and array tasks\nproject genome\n/);
    assert.match(run.output, /\n1 of 3 shown: --limit N\n$/);
  });

  it('ends with status 1 where nothing can be ranked, and refuses an unknown group or key', async () => {
    const none = await top('owners', { by: 'energy' });
    assert.equal(none.status, 1);
    assert.match(none.warnings, /^qmemacct: top owners: nothing to rank by energy from /);
    await assert.rejects(top('users'), /top: "users" can't be ranked; write owners, projects/);
    await assert.rejects(top('owners', { by: 'toString' }), /--by: "toString" is not a key/);
    assert.match((await top('owners', { by: 'help' })).output, /^--by +ranks by\n/);
  });
});

describe('the commands that list jobs', () => {
  it('end with status 2 on a usage error, before any store is opened', async () => {
    for (const words of [
      ['jobs', '--state', 'done'],
      ['jobs', 'bob'],
      ['jobs', '--sort', 'name'],
      ['jobs', '--columns', 'nothing'],
      ['project'],
      ['host', 'a', 'b'],
      ['top', 'nonsense'],
      ['top', '--by', 'x'],
      ['top', '--limit', '0'],
      ['queue', 'all.q', '--since', 'now', '--until', 'yesterday'],
    ]) {
      const terminal = fakeTerminal();
      assert.equal(await runProgram(words, '1', terminal), 2, words.join(' '));
      assert.match(terminal.warnings(), /^qmemacct: (?:.+\n){1,3}$/);
    }
  });
});
