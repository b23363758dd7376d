import type { RecordSort } from '../../accounting/store';
import { renderCsv } from '../../report/csv';
import { FAR_BELOW_LIMIT } from '../../report/fit';
import { renderJson, type Account } from '../../report/json';
import { toJobLines, toLines } from '../../report/owner-lines';
import { formatMinute, formatZone } from '../../report/local-time';
import { renderOwner } from '../../report/owner';
import { recordKeyText, type JobRecord } from '../../sampler/record';
import { loadSettings } from '../../sampler/settings';
import { CommandError, EXIT, usageError } from '../command-error';
import { findJob, type JobSources } from '../find-job';
import { findOwner } from '../find-owner';
import { outputFormat, screenOf, warn, writeLines } from '../output';
import { realSources, type Sources } from '../sources';
import { chooseStores, noStoreMessage, openStores } from '../stores';
import type { Terminal } from '../terminal';
import { parseInterval } from '../time-arguments';
import type { OwnerOptions } from './owner';

const SORTS = new Map<string, RecordSort>([
  ['ended', 'time'],
  ['time', 'time'],
  ['ran', 'wallclock'],
  ['wallclock', 'wallclock'],
  ['cpu', 'cpu'],
  ['peak', 'peak'],
  ['requested', 'requested'],
  ['unused', 'unused'],
  ['waste', 'unused'],
]);

const LINES_ON_A_SCREEN = 50;
const EVERYTHING = 1_000_000_000;

function sortOf(key: string): RecordSort {
  const sort = SORTS.get(key);
  if (sort === undefined)
    throw usageError(`--sort: "${key}" is not a key; write ended, ran, cpu, peak, requested or unused`);
  return sort;
}

function limitOf(text: string | undefined, otherwise: number): number {
  if (text === undefined) return otherwise;
  const limit = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (limit < 1) throw usageError(`--limit: "${text}" is not a number of lines; write 1 or more`);
  return limit;
}

/** Which run of its job each record is, by record key: the store numbers the runs job by job. */
async function withAttempts(records: readonly JobRecord[], sources: JobSources): Promise<Account[]> {
  const attempts = new Map<string, number>();
  for (const job of new Set(records.map((record) => record.job_id))) {
    const { runs } = await findJob({ job_id: job, all: true }, sources);
    for (const { record, attempt } of runs) attempts.set(recordKeyText(record), attempt);
  }
  return records.map((record) => ({ record, attempt: attempts.get(recordKeyText(record)) ?? 1 }));
}

/** Shows an owner's jobs; resolves to the exit status. Rejects with CommandError, SettingsError or StoreError. */
export async function showOwner(
  owner: string,
  options: OwnerOptions,
  terminal: Terminal,
  sources: Sources = realSources,
): Promise<number> {
  const format = outputFormat(options);
  const { since, until } = parseInterval(options.since, options.until, terminal.now());
  const grouped = (options.group ?? false) && format === 'text';
  const lines = limitOf(options.limit, format === 'text' ? LINES_ON_A_SCREEN : EVERYTHING);
  const sort = sortOf(options.sort);
  const settings = loadSettings(options.config);
  const stores = await openStores(chooseStores(options.accounting, settings.accounting, terminal.env), sources.open, {
    socket: settings.serve_socket,
    ask: sources.askServer,
  });
  if (stores.readers.length === 0) throw new CommandError(noStoreMessage(stores), EXIT.unavailable);
  try {
    stores.problems.forEach((problem) => warn(terminal, problem));
    const answer = await findOwner(
      {
        owner,
        since: since.getTime(),
        until: until.getTime(),
        sort,
        // The tasks of one array may lie far apart in the order: to group them, all are needed.
        limit: grouped ? EVERYTHING : lines,
        far_below: FAR_BELOW_LIMIT,
      },
      stores.readers,
    );
    if (answer.records.length === 0) {
      warn(
        terminal,
        `${owner}: no job ended from ${formatMinute(since)} to ${formatMinute(until)} ${formatZone(until)}; --since 30d looks further back`,
      );
      if (format === 'text') return EXIT.nothing;
    }
    const records = answer.records.map(({ record }) => record);
    const shown = (grouped ? toJobLines(records, sort) : toLines(records, sort)).slice(0, lines);
    if (format === 'text') {
      const report = { owner, since, until, lines: shown, totals: answer.totals };
      writeLines(terminal, renderOwner(report, screenOf(terminal, options, settings)));
    } else {
      const accounts = await withAttempts(shown.flat(), {
        readers: stores.readers,
        running: () => Promise.resolve([]),
      });
      terminal.write(format === 'json' ? renderJson(accounts) : renderCsv(accounts));
    }
    return records.length > 0 ? EXIT.found : EXIT.nothing;
  } finally {
    await Promise.all(stores.readers.map((reader) => reader.close()));
  }
}
