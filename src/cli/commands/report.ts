import { randomUUID } from 'node:crypto';
import { closeSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { Option, type Command } from 'commander';
import type { AccountingReader, JobAnswer } from '../../accounting/store';
import type { Dimension } from '../../accounting/summary';
import { openOutput } from '../../base/trusted-path';
import { loadSettings, type Settings } from '../../record/settings';
import type { ReportReader } from '../../report/efficiency/ask';
import { renderReportCsv, renderReportJson } from '../../report/efficiency/output';
import { renderReportHtml } from '../../report/efficiency/html/page';
import { toMailReport } from '../../report/efficiency/mail-report';
import { loadRules } from '../../report/rules/rule-set';
import { makeReport } from '../../report/efficiency/build';
import type { Report } from '../../report/efficiency/report';
import { renderReport } from '../../report/efficiency/text';
import { formatInterval } from '../../report/format/local-time';
import { commandAction, type CommandContext, type GlobalOptions, CommandError, EXIT, usageError } from '../command';
import { ACCOUNTING_OPTION, realSources, emptyExitStatus, withStores, type Sources } from '../stores/stores';
import { countedReaders } from '../records/counted-readers';
import { findRecords, findSummary } from '../records/find';
import { warnOfPrunedRecords } from '../records/subject';
import { ownerAddress } from '../mail/address';
import { MailError, messageId } from '../mail/message';
import { createMailer } from '../mail/mailer';
import { outputFormat, screenOf, warn } from '../output';
import type { Terminal } from '../terminal';
import { addIntervalOptions, SUMMED } from '../common-options';
import { furtherBack, parseInterval } from '../arguments';

const FORMATS = ['text', 'html', 'csv', 'json'] as const;
type Format = (typeof FORMATS)[number];

export interface ReportOptions extends GlobalOptions {
  readonly since: string;
  readonly until?: string;
  readonly by?: string;
  readonly owner?: string;
  readonly cluster?: string;
  readonly format?: Format;
  readonly mail?: boolean;
  readonly output?: string;
  readonly accounting?: string;
}

/** `qmemacct report --since 1d --format html > report.html` */
export function register(command: Command, context: CommandContext): void {
  addIntervalOptions(command, '1d')
    .addOption(
      new Option('--by <what>', 'what jobs are summed up by (default: owner; of one owner: name)').choices(
        SUMMED.map(({ one }) => one),
      ),
    )
    .option('--owner <name>', "only this user's jobs")
    .option('--cluster <name>', "only this cluster's jobs")
    .addOption(new Option('--format <format>', 'of the report; csv: only its sums (default: text)').choices(FORMATS))
    .option('--output <file>', 'write it to this file')
    .option('--mail', 'send it, as text and HTML: to mail_admins; with --owner to that user')
    .option(...ACCOUNTING_OPTION)
    .action(commandAction<ReportOptions>(context, showReport));
}

const dimensionOf = (text: string): Dimension => SUMMED.find(({ one }) => one === text)?.by ?? 'owner';

/** The format that --format, or the global --json or --csv, asks for. Throws a usage error if they disagree. */
function formatOf(options: ReportOptions): Format {
  const short = outputFormat(options);
  const format = options.format ?? short;
  if (short !== 'text' && short !== format) throw usageError(`--format ${format} and --${short} exclude each other`);
  return format;
}

const NO_JOB: JobAnswer = { records: [], older_incarnations: 0, newer_incarnations: 0 };

/** The stores as one. If one fails, all fail: sums that silently lack a store would be taken for the whole. */
function allOf(readers: readonly AccountingReader[]): ReportReader {
  return {
    summary: (query) => findSummary(query, readers),
    records: (query) => findRecords(query, readers),
    job: async (query) => {
      const answers = await Promise.all(readers.map((reader) => reader.job(query)));
      return answers.find(({ records }) => records.length > 0) ?? NO_JOB;
    },
    nodes: async (query) => (await Promise.all(readers.map((reader) => reader.nodes(query)))).flat(),
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
    const file = openOutput(path);
    try {
      writeFileSync(file, text);
    } finally {
      closeSync(file);
    }
  } catch (error) {
    throw new CommandError(`--output: ${path} can't be written: ${(error as Error).message}`, EXIT.unavailable, {
      cause: error,
    });
  }
}

/**
 * Makes a report and shows, writes or sends it; resolves to the exit status. Rejects with CommandError, SettingsError
 * or StoreError.
 */
export async function showReport(
  options: ReportOptions,
  terminal: Terminal,
  sources: Sources = realSources,
): Promise<number> {
  const format = formatOf(options);
  if (options.mail === true && options.output === undefined && format !== 'text')
    throw usageError('a mail has the report as text and as HTML: --format is of what --output writes');
  const owner = options.owner ?? null;
  const by = dimensionOf(options.by ?? (owner === null ? 'owner' : 'name'));
  const now = terminal.now();
  const interval = parseInterval(options.since, options.until, now);
  const { since, until } = interval;
  const settings = loadSettings(options.config);
  const recipients = options.mail === true ? recipientsOf(settings, owner) : null;
  return withStores(options.accounting, settings, terminal, sources, async (stores) => {
    const rules = await loadRules(settings.rules_file);
    if (rules.problem !== null) warn(terminal, rules.problem);
    const cluster = options.cluster ?? null;
    const question = { since, until, by, owner, cluster, now, dialect: settings.grid_engine, rules };
    const readers = await countedReaders(stores, {
      since: since.getTime(),
      until: until.getTime(),
      ...(owner === null ? {} : { owner }),
      ...(cluster === null ? {} : { cluster }),
    });
    const report = await makeReport(allOf(readers), question);
    const nothing = report.site.records === 0;
    // Its sums of pruned days are kept, not the jobs of its lists.
    const pruned = warnOfPrunedRecords(settings, interval, 'listed', terminal);
    if (nothing && !pruned)
      warn(
        terminal,
        `${owner === null ? '' : `${owner}: `}no job ended from ${formatInterval(since, until, 'to')}${furtherBack(since, now)}`,
      );
    if (options.output !== undefined)
      writeOutput(options.output, rendered(report, format, options, terminal, settings));
    else if (recipients === null) terminal.write(rendered(report, format, options, terminal, settings));
    if (recipients !== null) for (const line of await mailReport(report, recipients, settings)) warn(terminal, line);
    return nothing ? emptyExitStatus(stores) : EXIT.found;
  });
}

/** The addresses for --mail. Throws a usage error if mail_admins is empty, or no address can be made of the owner. */
function recipientsOf(settings: Settings, owner: string | null): readonly string[] {
  if (owner === null) {
    if (settings.mail_admins.length === 0)
      throw usageError('--mail: mail_admins names nobody; set it, or use --output');
    return [...new Set(settings.mail_admins)];
  }
  const address = ownerAddress(owner, settings.mail_domain);
  if (address === null) throw usageError(`--mail: no address can be made of the name "${owner}"`);
  return [address];
}

/** Mails the report to each recipient; resolves to a line for each. Rejects with CommandError at the first failure. */
async function mailReport(
  report: Report,
  recipients: readonly string[],
  settings: Settings,
): Promise<readonly string[]> {
  const mailer = createMailer(settings, hostname());
  const { text, html, headline } = toMailReport(report);
  const subject = report.owner === null ? ['qmemacct', ...report.clusters].join(' ') : `Jobs of ${report.owner}`;
  const sent: string[] = [];
  try {
    for (const to of recipients) {
      try {
        await mailer.send({
          from: mailer.from,
          to,
          subject: `${subject}: ${headline}`,
          text,
          html,
          // A new id each time: a report asked for by hand may go out again, unlike a nightly mail.
          id: messageId(['report', randomUUID(), to], mailer.domain),
          date: new Date(report.created_at),
        });
      } catch (error) {
        if (!(error instanceof MailError)) throw error;
        const before = sent.length === 0 ? '' : `; sent before: ${recipients.slice(0, sent.length).join(', ')}`;
        throw new CommandError(`--mail: ${to}: ${error.message}${before}`, EXIT.unavailable, { cause: error });
      }
      sent.push(`sent to ${to} by ${mailer.by}`);
    }
    return sent;
  } finally {
    mailer.close();
  }
}
