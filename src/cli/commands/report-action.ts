import { writeFileSync } from 'node:fs';
import type { AccountingReader, JobAnswer } from '../../accounting/store';
import type { Dimension } from '../../accounting/summary';
import type { ReportReader } from '../../report/efficiency/ask';
import { renderReportCsv } from '../../report/efficiency/csv';
import { renderReportHtml } from '../../report/efficiency/html/page';
import { renderReportJson } from '../../report/efficiency/json';
import { makeReport } from '../../report/efficiency/make-report';
import type { Report } from '../../report/efficiency/report';
import { renderReport } from '../../report/efficiency/text';
import { formatMinute, formatZone } from '../../report/local-time';
import { loadSettings, type Settings } from '../../record/settings';
import { CommandError, EXIT, usageError } from '../command-error';
import { commandStores } from '../command-stores';
import { findRecords, findSummary } from '../find-records';
import { outputFormat, screenOf, warn } from '../output';
import { realSources, type Sources } from '../sources';
import { noStoreMessage, statusOfNothing } from '../stores';
import type { Terminal } from '../terminal';
import { parseInterval } from '../time-arguments';
import type { ReportOptions } from './report';

const DIMENSIONS: ReadonlyMap<string, Dimension> = new Map([
  ['owner', 'owner'],
  ['project', 'project'],
  ['queue', 'queue'],
  ['host', 'host'],
  ['name', 'job_name'],
]);

type Format = 'text' | 'html' | 'csv' | 'json';
const FORMATS: readonly Format[] = ['text', 'html', 'csv', 'json'];

function dimensionOf(text: string): Dimension {
  const dimension = DIMENSIONS.get(text);
  if (dimension === undefined) throw usageError(`--by: "${text}" is none of owner, project, queue, host and name`);
  return dimension;
}

/** What --format says; --json and --csv, which every command knows, say the same. */
function formatOf(options: ReportOptions): Format {
  const short = outputFormat(options);
  if (options.format === undefined) return short;
  const format = FORMATS.find((known) => known === options.format);
  if (format === undefined) throw usageError(`--format: "${options.format}" is none of ${FORMATS.join(', ')}`);
  if (short !== 'text' && short !== format) throw usageError(`--format ${format} and --${short} exclude each other`);
  return format;
}

const NO_JOB: JobAnswer = { records: [], older_incarnations: 0, newer_incarnations: 0 };

/** The stores as one; a failing one fails all: sums that silently lack a store would be taken for the whole. */
function allOf(readers: readonly AccountingReader[]): ReportReader {
  return {
    summary: (query) => findSummary(query, readers),
    records: (query) => findRecords(query, readers),
    job: async (query) => {
      const answers = await Promise.all(readers.map((reader) => reader.job(query)));
      return answers.find(({ records }) => records.length > 0) ?? NO_JOB;
    },
  };
}

function rendered(
  report: Report,
  format: Format,
  options: ReportOptions,
  terminal: Terminal,
  settings: Settings,
): string {
  switch (format) {
    case 'html':
      return renderReportHtml(report);
    case 'csv':
      return renderReportCsv(report);
    case 'json':
      return renderReportJson(report);
    case 'text': {
      // A file has neither the terminal's width nor its colours.
      const place = options.output === undefined ? terminal : { ...terminal, isTTY: false, columns: undefined };
      const lines = renderReport(report, screenOf(place, options, settings));
      return lines.map((line) => `${line}\n`).join('');
    }
  }
}

function writeOutput(path: string, text: string): void {
  try {
    writeFileSync(path, text);
  } catch (error) {
    throw new CommandError(`--output: ${path} can't be written: ${(error as Error).message}`, EXIT.unavailable, {
      cause: error,
    });
  }
}

/**
 * Makes a report and shows, writes or sends it; resolves to the exit status. Rejects with CommandError, SettingsError or
 * StoreError.
 */
export async function showReport(
  options: ReportOptions,
  terminal: Terminal,
  sources: Sources = realSources,
): Promise<number> {
  const format = formatOf(options);
  const owner = options.owner ?? null;
  const by = dimensionOf(options.by ?? (owner === null ? 'owner' : 'name'));
  const now = terminal.now();
  const { since, until } = parseInterval(options.since, options.until, now);
  const settings = loadSettings(options.config);
  const mail = options.mail === true ? await import('./report-mail.js') : null;
  const recipients = mail === null ? null : mail.recipientsOf(settings, owner);
  const stores = await commandStores(options.accounting, settings, terminal, sources);
  if (stores.readers.length === 0) throw new CommandError(noStoreMessage(stores), EXIT.unavailable);
  try {
    stores.problems.forEach((problem) => warn(terminal, problem));
    const question = { since, until, by, owner, cluster: options.cluster ?? null, now, dialect: settings.grid_engine };
    const report = await makeReport(allOf(stores.readers), question);
    const nothing = report.site.records === 0;
    if (nothing)
      warn(
        terminal,
        `${owner === null ? '' : `${owner}: `}no job ended from ${formatMinute(since)} to ${formatMinute(until)} ${formatZone(until)}; --since 30d looks further back`,
      );
    if (options.output !== undefined)
      writeOutput(options.output, rendered(report, format, options, terminal, settings));
    else if (mail === null) terminal.write(rendered(report, format, options, terminal, settings));
    if (mail !== null && recipients !== null)
      for (const line of await mail.mailReport(report, recipients, settings)) warn(terminal, line);
    return nothing ? statusOfNothing(stores) : EXIT.found;
  } finally {
    await Promise.all(stores.readers.map((reader) => reader.close()));
  }
}
