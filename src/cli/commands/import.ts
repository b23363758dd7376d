import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { HistoryStore } from '../../accounting/history-store';
import type { ImportSums } from '../../accounting/import/import-file';
import type { FilesOutcome } from '../../accounting/import/import-files';
import { isClusterName } from '../../gridengine/cluster-name';
import { findCell } from '../../gridengine/find-cell';
import { RequestRules } from '../../record/request-rules';
import type { Settings } from '../../record/settings';
import { escapeForTerminal } from '../../report/format/escape';
import { formatCount, formatDuration, formatPercent, plural } from '../../report/format/units';
import { commandAction, type CommandContext, type GlobalOptions, EXIT, usageError } from '../command';
import { openHistory } from '../../accounting/open-store';
import { becomeDeliverer, importSettings } from '../stores/maintenance';
import { ownStorePath } from '../stores/stores';
import { clusterOf } from '../import/accounting-files';
import {
  describeImport,
  dryStore,
  importRound,
  passedOver,
  rotatingFiles,
  siteFiles,
  watchedPaths,
  type FollowedSite,
  type SiteFiles,
} from '../import/import-site';
import { describeFindings } from '../import/findings';
import { waitForChange } from '../import/follow-files';
import { interruption, progressLine, statusLine, type Terminal } from '../terminal';
import { outputFormat, screenOf, textOrJson, warn, writeAnswer, writeLines } from '../output';

export interface ImportOptions extends GlobalOptions {
  readonly follow?: boolean;
  readonly cluster?: string;
  readonly dryRun?: boolean;
  readonly unreadable?: boolean;
}

/** `qmemacct import [FILE...]` */
export function register(command: Command, context: CommandContext): void {
  command
    .argument('[file...]', "accounting files, plain or compressed by gzip (default: the cell's, rotated ones included)")
    .option('--follow', 'keep reading what is written from now on, until Ctrl-C')
    .option(
      '--cluster <name>',
      "the cluster the files are from, also of files that were imported as another cluster's (default: this one)",
    )
    .option('--dry-run', 'only show what the files contain')
    .option('--unreadable', 'list the lines that could not be read and were set aside')
    .action(commandAction<ImportOptions, [readonly string[]]>(context, importAccounting));
}

/** At most this many unreadable lines are listed as text. */
const MOST_LISTED = 1000;
const SHOWN_OF_A_LINE = 200;

function filesOf(
  given: readonly string[],
  settings: Settings,
  options: ImportOptions,
  env: Terminal['env'],
): SiteFiles {
  if (given.length === 0) {
    const site = siteFiles(settings, env);
    return { ...site, cluster: options.cluster ?? site.cluster };
  }
  const cluster = options.cluster ?? clusterOf(settings, findCell(env, settings));
  const paths = given.map((path) => resolve(path));
  // What was written last before a rotation is in another file by the time that it is looked for.
  if (options.follow) return rotatingFiles(paths, cluster);
  return { cluster, look: () => paths, places: [] };
}

async function listUnreadable(
  store: HistoryStore,
  cluster: string,
  options: ImportOptions,
  terminal: Terminal,
): Promise<number> {
  const lines = await store.unreadableLines(cluster, outputFormat(options) === 'text' ? MOST_LISTED : Infinity);
  const says = lines.map(
    ({ path, offset, reason, text }) =>
      `${escapeForTerminal(path)}: byte ${offset}: ${escapeForTerminal(reason)}: ${escapeForTerminal(text.slice(0, SHOWN_OF_A_LINE))}`,
  );
  writeAnswer(terminal, outputFormat(options), { lines }, says);
  if (lines.length === 0) warn(terminal, `no line of cluster ${cluster} was unreadable`);
  else if (lines.length === MOST_LISTED) warn(terminal, `only the last ${formatCount(MOST_LISTED)}; --json lists all`);
  return lines.length > 0 ? EXIT.found : EXIT.nothing;
}

function report(sums: ImportSums, problems: readonly string[], options: ImportOptions, terminal: Terminal): void {
  const { lines, added, joined, unchanged, unreadable, firstUnreadable: first } = sums;
  const says = options.dryRun
    ? `${plural(lines, 'new line')} with ${plural(added, 'record')}, nothing was written`
    : describeImport(sums);
  const format = outputFormat(options);
  const answer = { lines, added, joined, unchanged, unreadable, first_unreadable: first, problems };
  writeAnswer(terminal, format, answer, [says]);
  if (first !== null && format === 'text')
    warn(terminal, `the first that is unreadable: ${first.path}, byte ${first.offset}: ${first.reason}`);
}

interface Imported {
  readonly store: HistoryStore;
  readonly cluster: string;
  readonly sums: ImportSums;
  readonly signal: AbortSignal;
}

/** Rolls up the days that changed, so that later reports answer at once, and prints the main findings. */
async function showFindings(
  { store, cluster, sums, signal }: Imported,
  options: ImportOptions,
  terminal: Terminal,
): Promise<void> {
  if (sums.ended === null) return;
  const progress = progressLine(terminal);
  const onProgress = (done: number, of: number): void => {
    progress.show('days', done, of);
  };
  await store.rollUp({ signal, onProgress }).finally(progress.clear);
  if (signal.aborted || outputFormat(options) !== 'text') return;
  writeLines(terminal, await describeFindings(store, cluster, sums.ended, screenOf(terminal, options)));
}

const BAR = 20;

/** The progress line. `lines`: so far; `done`, `of`: bytes on disk, read and in all; `seconds`: since the start. */
export function progressText(lines: number, done: number, of: number, seconds: number): string {
  const share = of > 0 ? Math.min(1, done / of) : 1;
  const full = Math.round(share * BAR);
  const rate = seconds > 0 ? `, ${formatCount(lines / seconds)} lines/s` : '';
  const left = share > 0.01 && share < 1 ? `, ${formatDuration((seconds / share) * (1 - share))} left` : '';
  return `[${'#'.repeat(full)}${'.'.repeat(BAR - full)}] ${formatPercent(share)}, ${formatCount(lines)} lines${rate}${left}`;
}

/** Whether the SQLite accounting DB does not exist: --dry-run does not create it. */
function isMissing(accounting: string): boolean {
  return accounting.startsWith('/') && !existsSync(accounting);
}

/** An import that is under way. */
interface Import {
  readonly followed: FollowedSite;
  readonly signal: AbortSignal;
  readonly options: ImportOptions;
  readonly terminal: Terminal;
}

function readNew({ followed, signal, options, terminal }: Import): Promise<FilesOutcome> {
  const start = Date.now();
  const progress = statusLine(terminal, (lines: number, done: number, of: number) =>
    progressText(lines, done, of, (Date.now() - start) / 1000),
  );
  return importRound(followed, {
    signal,
    renames: options.cluster !== undefined,
    onProgress: ({ lines }, done, of) => {
      progress.show(lines, done, of);
    },
  }).finally(progress.clear);
}

async function readFirst(started: Import): Promise<FilesOutcome> {
  const { options, terminal } = started;
  const outcome = await readNew(started);
  const problems = [...outcome.problems.values()];
  report(outcome, problems, options, terminal);
  for (const problem of problems) warn(terminal, problem);
  for (const path of outcome.cut)
    warn(terminal, `${path}: the last line is incomplete (no newline): the next import reads it`);
  return outcome;
}

/** Reads what is written, until interrupted. That a file is missing while it is rotated is no problem. */
async function follow(started: Import): Promise<void> {
  const { followed, signal, options, terminal } = started;
  for (;;) {
    await waitForChange(watchedPaths(followed.site), signal);
    if (signal.aborted) return;
    const outcome = await readNew(started);
    if (outcome.lines > 0) report(outcome, [], options, terminal);
  }
}

async function importFiles(started: Import): Promise<number> {
  const { signal, options, terminal } = started;
  const { site, store } = started.followed;
  for (const line of passedOver(site)) warn(terminal, line);
  const sums = await readFirst(started);
  if (options.follow) await follow(started);
  else if (signal.aborted) {
    warn(terminal, 'interrupted: what is stored stays, the rest comes with the next import');
    return EXIT.unavailable;
  } else if (store !== null) await showFindings({ store, cluster: site.cluster, sums, signal }, options, terminal);
  if (sums.problems.size > 0) return EXIT.unavailable;
  return sums.lines > 0 || options.follow ? EXIT.found : EXIT.nothing;
}

function requireUsable(options: ImportOptions): void {
  const { cluster, follow: follows, dryRun } = options;
  if (follows && dryRun) throw usageError('--follow and --dry-run exclude each other: give one of them');
  textOrJson(options, 'import');
  if (cluster !== undefined && !isClusterName(cluster))
    throw usageError(`--cluster "${cluster}": a cluster's name has only letters, digits and . _ -`);
}

/** `import`; resolves to the exit status. Rejects with CommandError, SettingsError or StoreError. */
export async function importAccounting(
  given: readonly string[],
  options: ImportOptions,
  terminal: Terminal,
  open: (settings: Settings) => Promise<HistoryStore> = openHistory,
): Promise<number> {
  requireUsable(options);
  const settings = importSettings(options.config, terminal.env);
  if (existsSync(options.config) && settings.accounting === ownStorePath(terminal.env))
    warn(
      terminal,
      `the site's accounting DB is not yours to write to: importing into your own; see it with --accounting ${settings.accounting}`,
    );
  const site = filesOf(given, settings, options, terminal.env);
  becomeDeliverer(settings);
  const store = options.dryRun && isMissing(settings.accounting) ? null : await open(settings);
  const { signal, release } = interruption();
  try {
    if (options.unreadable && store !== null) return await listUnreadable(store, site.cluster, options, terminal);
    const target = store === null || options.dryRun ? dryStore((await store?.importedFiles()) ?? []) : store;
    const written = options.dryRun ? null : store;
    const followed = { site, store: written, target, rules: new RequestRules(settings), seen: new Map() };
    return await importFiles({ followed, signal, options, terminal });
  } finally {
    release();
    await store?.close();
  }
}
