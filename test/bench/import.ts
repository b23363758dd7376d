import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync, readSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { importFile } from '../../src/accounting/import/import-file';
import { beginOfFile } from '../../src/accounting/import/line-place';
import { lineSplitter } from '../../src/accounting/import/split-lines';
import { openSqliteHistory } from '../../src/accounting/sqlite/sqlite-history';
import { formatCount } from '../../src/report/format/units';
import type { Bench, BenchOptions, Row, Section } from './bench';
import { FIRST_JOB, fillHistory, sizeOf, type History } from './history-fill';
import { lineText, WEEK_MS } from './history-week';
import { intoPostgres } from './import-postgres';
import { CLUSTER, later, row, timed } from './import-rows';
import { QACCT, qacctEnvironment } from './qacct-cell';
import { temporaryDirectory } from '../support/temporary-directory';

/** Reading Grid Engine's accounting into an empty store, and into one of years, beside wc and qacct on the same file. */

const SEED = 1;
const QUICK_JOBS = 200_000;
const USUAL_JOBS = 2_000_000;
const CHUNK = 1 << 20;
/** Weeks that are added to the full store. */
const MORE_WEEKS = 2;

/** A file read from the page cache, split and parsed, without storing anything. */
function parse(path: string): number {
  const file = openSync(path, 'r');
  const buffer = Buffer.alloc(CHUNK);
  const splitter = lineSplitter({ ...beginOfFile(''), offset: 0, tail: new Uint8Array() }, 20_000);
  let lines = 0;
  try {
    for (let length = readSync(file, buffer); length > 0; length = readSync(file, buffer))
      for (const batch of splitter.add(buffer.subarray(0, length))) lines += batch.packed.length;
  } finally {
    closeSync(file);
  }
  return splitter.rest().reduce((sum, { packed }) => sum + packed.length, lines);
}

async function intoEmpty(history: History, directory: string): Promise<readonly Row[]> {
  const path = join(directory, 'empty.db');
  const store = openSqliteHistory(path, 0o640);
  try {
    const taken = await timed(() => importFile(history.file, store, { cluster: CLUSTER }));
    const { added, lines, problem } = taken.value;
    if (problem !== null || added !== history.records)
      throw new Error(`${added} of ${history.records}: ${problem ?? ''}`);
    const rolled = await timed(() => store.rollUp({}));
    return [
      row('a line into an empty store', lines, taken, 'line into an empty store'),
      row(`its roll-up afterwards, ${rolled.value} days`, added, rolled),
      { what: 'a record with all indexes', unit: 'bytes', values: [sizeOf(path) / added] },
    ];
  } finally {
    await store.close();
    rmSync(path, { force: true });
  }
}

/** The weeks that follow those in the store: half of their jobs have records of the sampler's, which the lines join. */
async function intoFull(history: History, directory: string): Promise<readonly Row[]> {
  const { week, weeks } = history;
  const file = join(directory, 'more');
  const store = openSqliteHistory(history.store, 0o640);
  try {
    let text = '';
    let sampled = 0;
    for (let number = weeks; number < weeks + MORE_WEEKS; number++) {
      const jobs = number * week.jobs;
      const records = week.runs.flatMap(({ record }) => (record === null ? [] : later(record, jobs, number * WEEK_MS)));
      for (let at = 0; at < records.length; at += 500) await store.merge(records.slice(at, at + 500));
      sampled += records.length;
      for (const { job, line } of week.runs) text += lineText(line, FIRST_JOB + job + jobs, (number * WEEK_MS) / 1000);
    }
    writeFileSync(file, text);
    const taken = await timed(() => importFile(file, store, { cluster: CLUSTER }));
    const { added, joined, lines, problem } = taken.value;
    if (problem !== null || joined !== sampled || added + joined !== lines)
      throw new Error(`${added} added, ${joined} of ${sampled} joined, of ${lines}: ${problem ?? ''}`);
    const rolled = await timed(() => store.rollUp({}));
    const both = { us: taken.us + rolled.us, cpuUs: taken.cpuUs + rolled.cpuUs };
    return [
      row(`a line into ${formatCount(history.records)} records, ${joined} of ${lines} joined`, lines, taken),
      row('its roll-up afterwards', lines, rolled),
      row('both together', lines, both, 'line into years, half joined'),
    ];
  } finally {
    await store.close();
  }
}

async function rivals(history: History, directory: string): Promise<readonly Row[]> {
  const rows: Row[] = [];
  const time = async (what: string, program: string, words: readonly string[], env?: NodeJS.ProcessEnv) => {
    const { us, value } = await timed(() => spawnSync(program, words, { env, stdio: 'ignore' }));
    rows.push(
      value.status === 0
        ? {
            what,
            unit: 'us',
            values: [us / history.records],
            note: `${formatCount((history.records * 1e6) / us)} lines/s`,
          }
        : { what, unit: 'us', values: [], note: `status ${value.status ?? 'none'}` },
    );
  };
  await time('wc -l', '/usr/bin/wc', ['-l', history.file]);
  if (existsSync(QACCT))
    await time('qacct -o bob', QACCT, ['-o', 'bob', '-f', history.file], qacctEnvironment(directory));
  else rows.push({ what: 'qacct -o bob', unit: 'us', values: [], note: `${QACCT} is not installed` });
  return rows;
}

async function run({ quick, jobs, progress }: BenchOptions): Promise<readonly Section[]> {
  const directory = temporaryDirectory();
  const records = jobs ?? (quick ? QUICK_JOBS : USUAL_JOBS);
  const history = await fillHistory(directory, { records, weeks: null }, Date.now(), SEED, progress);
  // The file must be in the page cache for all of them.
  spawnSync('cat', [history.file], { stdio: 'ignore' });
  progress('import: reading alone');
  const parsed = await timed(() => parse(history.file));
  progress('import: into an empty store');
  const empty = await intoEmpty(history, directory);
  progress('import: into a full store');
  const full = await intoFull(history, directory);
  progress('import: into PostgreSQL');
  const inPostgres = await intoPostgres(history, directory);
  const bytes = sizeOf(history.file) / history.records;
  return [
    {
      title: `import: ${formatCount(history.records)} lines of ${bytes.toFixed(0)} bytes, per line`,
      rows: [
        row('reading and parsing alone', parsed.value, parsed),
        ...empty,
        ...full,
        ...inPostgres,
        ...(await rivals(history, directory)),
      ],
    },
  ];
}

export const importBench: Bench = {
  name: 'import',
  about: "Grid Engine's accounting into an empty store and into years (--jobs 10000000), beside wc and qacct",
  run,
};
