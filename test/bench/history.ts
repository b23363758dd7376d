import { spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openSqliteReader } from '../../src/accounting/sqlite/sqlite-store';
import type { AccountingReader } from '../../src/accounting/store';
import type { ClassFields } from '../../src/report/advice/class-advice';
import { ClassHistory } from '../../src/report/advice/class-history';
import { packageRoot } from '../../src/base/package-root';
import { noPostgres } from '../accounting/postgres/server';
import { seededRandom } from '../accounting/realistic-record';
import type { Bench, BenchOptions, Row, Section } from './bench';
import { FIRST_JOB, fillHistory, sizeOf } from './history-fill';
import type { History } from './history-fill';
import { keptHistory } from './history-kept';
import { hostName } from './history-week';
import { fillPostgres } from './history-postgres';
import { QACCT, qacctEnvironment } from './qacct-cell';
import { median, tail } from './statistics';
import { temporaryDirectory } from '../support/temporary-directory';
import type { BudgetName } from './budgets';

/** The time of queries over years of a site, beside qacct on the same jobs in the same run. */

const SEED = 1;
const QUICK_JOBS = 200_000;
const USUAL_JOBS = 1_000_000;
const DAY_MS = 86_400_000;
const WARM_RUNS = 40;
const COLD_RUNS = 5;
const COMMAND_RUNS = 5;
const QACCT_RUNS = 2;

interface Question {
  readonly name: string;
  readonly budget?: BudgetName;
  /** Each `turn` asks for something else. */
  readonly ask: (reader: AccountingReader, turn: number) => Promise<unknown>;
}

type Span = Pick<History, 'since' | 'until' | 'week' | 'weeks'>;

/** Rejects where there is no advice though there must be, or the other way round. */
async function adviseOn(
  reader: AccountingReader,
  now: number,
  named: Pick<ClassFields, 'owner' | 'jobName'>,
): Promise<void> {
  const history = new ClassHistory(async (query) => (await reader.records(query)).records, now);
  const unknown = { slots: null, pe: null, project: null, queue: null, programs: [], cluster: null, complex: null };
  const fields = { ...unknown, ...named };
  const prediction = await history.memoryOf(fields);
  if ((prediction === null) !== (named.owner === 'user000'))
    throw new Error(`advice for ${named.owner}: ${prediction?.runs}`);
}

function questions(history: Span): readonly Question[] {
  const random = seededRandom(7);
  const { since, until, week, weeks } = history;
  const jobs = Array.from({ length: 200 }, () => FIRST_JOB + Math.floor(random() * week.jobs * weeks));
  const host = (turn: number): string => hostName(turn * 37);
  const days = (count: number): { readonly since: number; readonly until: number } => ({
    since: until - count * DAY_MS,
    until,
  });
  const month = (turn: number): { readonly since: number; readonly until: number } => {
    const months = Math.max(1, Math.floor((until - since) / (30 * DAY_MS)) - 1);
    const end = until - (turn % months) * 30 * DAY_MS;
    const midnight = Math.floor(end / DAY_MS) * DAY_MS;
    return { since: midnight - 30 * DAY_MS, until: midnight };
  };
  return [
    {
      name: 'job ID',
      budget: 'query',
      ask: (reader, turn) => reader.job({ job_id: jobs[turn % jobs.length] ?? FIRST_JOB }),
    },
    {
      name: 'owner bob --since 7d',
      budget: 'query',
      ask: (reader) => reader.records({ ...days(7), owner: 'bob' }),
    },
    { name: 'owner with most jobs --since 7d', ask: (reader) => reader.records({ ...days(7), owner: 'user000' }) },
    { name: 'jobs of a host, 7 days', ask: (reader, turn) => reader.records({ ...days(7), host: host(turn) }) },
    {
      name: 'jobs of a project that failed, 30 days',
      ask: (reader, turn) => reader.records({ ...days(30), project: `group${turn % 40}`, failed: true }),
    },
    {
      name: 'jobs by name pattern and peak, 30 days',
      ask: (reader, turn) =>
        reader.records({
          ...days(30),
          job_name: `train_${(turn * 6 + 2) % 60}_*`,
          peak_at_least: 2 ** 33,
          sort: 'unused',
        }),
    },
    { name: 'a month by owner', ask: (reader, turn) => reader.summary({ ...month(turn), by: 'owner' }) },
    {
      name: "a month's ten names of most waste",
      ask: (reader, turn) => reader.summary({ ...month(turn), by: 'job_name', sort: 'requested_gib_hours', limit: 10 }),
    },
    {
      name: 'advice for a class',
      budget: 'advice for a class',
      ask: (reader) => adviseOn(reader, until, { owner: 'bob', jobName: 'step_#_#.sh' }),
    },
    {
      name: 'advice for a name new to the owner with most jobs',
      budget: 'advice for a class',
      ask: (reader) => adviseOn(reader, until, { owner: 'user000', jobName: 'step_#_#.sh' }),
    },
    {
      name: 'all the years by owner',
      budget: 'ten years by owner',
      ask: (reader) => reader.summary({ since, until, by: 'owner' }),
    },
  ];
}

async function msOf(step: () => unknown): Promise<number> {
  const began = performance.now();
  await step();
  return performance.now() - began;
}

/** Takes a file out of the page cache (posix_fadvise DONTNEED, by dd's flag); caches of the disk stay. */
function forgetPages(path: string): void {
  const { status, stderr } = spawnSync(
    'dd',
    [`of=${path}`, 'oflag=nocache', 'conv=notrunc,fdatasync', 'count=0', 'status=none'],
    { encoding: 'utf8' },
  );
  if (status !== 0) throw new Error(`the page cache could not be emptied: ${stderr}`);
}

/** `forget`: empties the page cache of the store; null: that can't be done. */
async function askAll(
  history: Span,
  open: () => AccountingReader,
  forget: (() => void) | null,
  progress: (text: string) => void,
): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (const { name, budget, ask } of questions(history)) {
    progress(`history: ${name}`);
    try {
      const cold: number[] = [];
      for (let turn = 0; forget !== null && turn < COLD_RUNS; turn++) {
        forget();
        const reader = open();
        cold.push(await msOf(() => ask(reader, turn)));
        await reader.close();
      }
      const reader = open();
      const warm: number[] = [];
      for (let turn = 0; turn < WARM_RUNS; turn++) {
        await ask(reader, turn);
        warm.push(await msOf(() => ask(reader, turn)));
      }
      await reader.close();
      rows.push({
        what: name,
        unit: 'ms',
        values: warm,
        note: tail(warm),
        budget,
      });
      if (cold.length > 0)
        rows.push({ what: '  nothing of it in the page cache', unit: 'ms', values: cold, note: tail(cold) });
    } catch (error) {
      rows.push({ what: name, unit: 'ms', values: [], note: error instanceof Error ? error.message : String(error) });
    }
  }
  return rows;
}

interface Command {
  readonly name: string;
  readonly words: (turn: number) => readonly string[];
  readonly budget?: BudgetName;
}

/** Wall clock of a whole program; its exit status, where that is not 0. */
function runOnce(
  program: string,
  words: readonly string[],
  env: NodeJS.ProcessEnv,
): { readonly ms: number; readonly problem: string | null } {
  const began = performance.now();
  const { status, stderr } = spawnSync(program, words, {
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    maxBuffer: 1 << 30,
  });
  const ms = performance.now() - began;
  return { ms, problem: status === 0 ? null : `status ${status ?? 'none'}: ${stderr.trim().split('\n')[0] ?? ''}` };
}

function measure(command: Command, runs: number, program: string, env: NodeJS.ProcessEnv): Row {
  const values: number[] = [];
  for (let turn = 0; turn < runs; turn++) {
    const { ms, problem } = runOnce(program, command.words(turn), env);
    if (problem !== null) return { what: command.name, unit: 'ms', values: [], note: problem };
    values.push(ms);
  }
  const { name, budget } = command;
  return { what: name, unit: 'ms', values, note: tail(values), budget };
}

function ownCommands(history: History, directory: string): readonly Row[] {
  const config = join(directory, 'qmemacct.toml');
  writeFileSync(config, `accounting = "${history.store}"\nserve_socket = "${join(directory, 'none.sock')}"\n`);
  const random = seededRandom(8);
  const job = (): string => String(FIRST_JOB + Math.floor(random() * history.week.jobs * history.weeks));
  const from = ['--config', config];
  const env = { PATH: process.env.PATH, HOME: directory };
  const commands: readonly Command[] = [
    { name: 'qmemacct job ID', budget: 'whole command', words: () => ['job', job(), ...from] },
    {
      name: 'qmemacct owner bob --since 7d',
      budget: 'whole command',
      words: () => ['owner', 'bob', '--since', '7d', ...from],
    },
    {
      name: 'qmemacct jobs --project group7 --failed --since 30d',
      words: () => ['jobs', '--project', 'group7', '--failed', '--since', '30d', ...from],
    },
    { name: 'qmemacct top --since 30d', words: () => ['top', '--since', '30d', ...from] },
    {
      name: 'qmemacct report --since 30d',
      budget: "a month's report",
      words: () => ['report', '--since', '30d', ...from],
    },
    { name: 'qmemacct --version', words: () => ['--version'] },
  ];
  const program = join(packageRoot(), 'bin', 'qmemacct');
  return commands.map((command) =>
    measure({ ...command, words: (turn) => [program, ...command.words(turn)] }, COMMAND_RUNS, process.execPath, env),
  );
}

/** qacct reads the file from its first line to its last. */
function qacctRows(history: History, directory: string): readonly Row[] {
  const { file, hasFile } = history;
  if (!hasFile) return [{ what: 'qacct', unit: 'ms', values: [], note: 'no accounting file of so many records' }];
  if (!existsSync(QACCT)) return [{ what: 'qacct', unit: 'ms', values: [], note: `${QACCT} is not installed` }];
  const env = qacctEnvironment(directory);
  const job = (): string => String(FIRST_JOB + Math.floor((history.week.jobs * history.weeks) / 2));
  // qacct is fastest with the file in the page cache.
  spawnSync('cat', [file], { stdio: 'ignore' });
  return [
    { name: 'qacct -j ID', words: () => ['-f', file, '-j', job()] },
    { name: 'qacct -o bob -d 7', words: () => ['-f', file, '-o', 'bob', '-d', '7'] },
  ].map((command) => measure(command, QACCT_RUNS, QACCT, env));
}

function fillRows(history: History): readonly Row[] {
  const perSecond = (count: number, ms: number): readonly number[] => [(count * 1000) / ms];
  const { week, delivered, weeks } = history;
  const copied = week.runs.length * (weeks - 1);
  return [
    {
      what: 'records delivered, in transactions of 500',
      unit: 'records/s',
      values: perSecond(delivered, history.deliveredMs),
    },
    {
      what: 'lines merged, half of them joined',
      unit: 'records/s',
      values: perSecond(week.runs.length, history.importedMs),
    },
    ...(copied > 0
      ? [{ what: 'rows copied', unit: 'records/s' as const, values: perSecond(copied, history.copiedMs) }]
      : []),
    {
      what: `records rolled up, ${history.days} days`,
      unit: 'records/s',
      values: perSecond(history.rolled, history.rolledMs),
    },
    {
      what: 'a record with all indexes',
      unit: 'bytes',
      values: [sizeOf(history.store) / history.records],
      budget: 'record in SQLite',
    },
    ...(!history.hasFile
      ? []
      : [
          {
            what: 'a line of the accounting file',
            unit: 'bytes',
            values: [sizeOf(history.file) / history.records],
          } as const,
        ]),
  ];
}

function compare(rows: readonly Row[]): readonly string[] {
  const middle = (what: string): number => median(rows.find((row) => row.what === what)?.values ?? []);
  return (
    [
      ['qmemacct job ID', 'qacct -j ID'],
      ['qmemacct owner bob --since 7d', 'qacct -o bob -d 7'],
    ] as const
  )
    .filter(([, theirs]) => !Number.isNaN(middle(theirs)))
    .map(([ours, theirs]) => `${ours}: ${(middle(theirs) / middle(ours)).toFixed(1)} times as fast as ${theirs}.`);
}

async function runInPostgres({ quick, jobs, progress }: BenchOptions): Promise<readonly Section[]> {
  if (noPostgres !== false)
    return [{ title: 'history in PostgreSQL', rows: [{ what: 'all', unit: 'ms', values: [], note: noPostgres }] }];
  const history = await fillPostgres(jobs ?? (quick ? QUICK_JOBS : USUAL_JOBS), Date.now(), SEED, progress);
  try {
    const perSecond = (count: number, ms: number): readonly number[] => [(count * 1000) / ms];
    const rows: readonly Row[] = [
      {
        what: 'records delivered, in transactions of 500',
        unit: 'records/s',
        values: perSecond(history.merged, history.mergedMs),
      },
      { what: 'records rolled up', unit: 'records/s', values: perSecond(history.records, history.rolledMs) },
      {
        what: 'a record with all indexes',
        unit: 'bytes',
        values: [history.bytes / history.records],
        budget: 'record in PostgreSQL',
      },
      ...(await askAll(history, history.open, null, progress)),
    ];
    return [{ title: `history in PostgreSQL: ${history.records} records of ${history.weeks} weeks`, rows }];
  } finally {
    await history.remove();
  }
}

async function run({ quick, jobs, weeks, keep, progress }: BenchOptions): Promise<readonly Section[]> {
  const directory = temporaryDirectory();
  const size = jobs ?? (quick ? QUICK_JOBS : USUAL_JOBS);
  // qacct counts its days back from the present.
  const make = keep === null ? fillHistory : keptHistory;
  const history = await make(keep ?? directory, { records: size, weeks }, Date.now(), SEED, progress);
  const years = ((history.until - history.since) / (365.25 * DAY_MS)).toFixed(1);
  const openStore = (): AccountingReader => openSqliteReader(history.store);
  const queries = await askAll(
    history,
    openStore,
    () => {
      forgetPages(history.store);
    },
    progress,
  );
  progress('history: whole commands');
  const commands = [...ownCommands(history, directory), ...qacctRows(history, directory)];
  return [
    {
      title: `history: ${history.records} records of ${years} years`,
      rows: fillRows(history),
      notes: [
        `${history.weeks} weeks: the first was delivered and merged record by record, the others are its copies.`,
      ],
    },
    { title: 'history: questions, in process', rows: queries },
    { title: 'history: whole commands, beside qacct on the same jobs', rows: commands, notes: compare(commands) },
  ];
}

export const historyBench: Bench = {
  name: 'history',
  about: 'questions to years of a site (--jobs 10000000 --keep DIRECTORY), beside qacct on the same jobs',
  run,
};

export const postgresBench: Bench = {
  name: 'postgres',
  about: 'the same questions to PostgreSQL',
  run: runInPostgres,
};
