import { basename, dirname, join } from 'node:path';
import { fileState } from '../../base/file-state';
import { groupBy } from '../../base/group-by';
import type { HistoryStore, LongWork, ImportedFile } from '../../accounting/history-store';
import type { ImportStore, ImportSums } from '../../accounting/import/import-file';
import { importFiles, type FilesOptions, type FilesOutcome } from '../../accounting/import/import-files';
import { readFault } from '../../accounting/import/read-fault';
import { findCell } from '../../gridengine/find-cell';
import { RequestRules, type RequestSetting } from '../../record/request-rules';
import type { Settings } from '../../record/settings';
import { formatCount, plural } from '../../report/format/units';
import { CommandError, EXIT } from '../command';
import type { Terminal } from '../terminal';
import {
  accountingFilesIn,
  CELL_NAMES,
  clusterOf,
  commonDirectory,
  passedOverIn,
  sizeOnDisk,
  type AccountingPlace,
} from './accounting-files';

type SiteSettings = Pick<Settings, 'cluster' | 'accounting_files' | 'admin_user' | 'cell' | RequestSetting>;

export interface SiteFiles {
  readonly cluster: string;
  /** The files that exist now, each place's oldest first. Throws CommandError. */
  readonly look: () => readonly string[];
  /** Where further files may appear. */
  readonly places: readonly AccountingPlace[];
}

/** The accounting files of a place, the oldest first. Throws CommandError. */
function filesIn(place: AccountingPlace): readonly string[] {
  try {
    return accountingFilesIn(place);
  } catch (error) {
    throw new CommandError(
      `${place.directory} can't be read: ${readFault(error)}; or set "accounting_files"`,
      EXIT.unavailable,
      { cause: error },
    );
  }
}

/** The listed files; empty if the directory can't be read. */
function ifReadable(place: AccountingPlace, list: typeof accountingFilesIn): readonly string[] {
  try {
    return list(place);
  } catch {
    return [];
  }
}

/** The files, together with their rotated predecessors. */
function withRotated(paths: readonly string[]): readonly string[] {
  const found = placesOf(paths).flatMap((place) => ifReadable(place, accountingFilesIn));
  // A missing file is kept, so that the import reports it.
  return [...found, ...paths.filter((path) => !found.includes(path))];
}

function placesOf(paths: readonly string[]): readonly AccountingPlace[] {
  const directories = groupBy(paths, (path) => dirname(path));
  return [...directories].map(([directory, all]) => ({ directory, names: all.map((path) => basename(path)) }));
}

/** These files, and their rotated forms. */
export function rotatingFiles(paths: readonly string[], cluster: string): SiteFiles {
  return { cluster, look: () => withRotated(paths), places: placesOf(paths) };
}

/** The files to import if the command names none. Throws CommandError, UntrustedError (findCell). */
export function siteFiles(settings: SiteSettings, env: Terminal['env']): SiteFiles {
  const cell = findCell(env, settings);
  const cluster = clusterOf(settings, cell);
  const configured = settings.accounting_files;
  if (configured.length > 0) return rotatingFiles(configured, cluster);
  if (cell === null)
    throw new CommandError(
      'no cell of Grid Engine is found on this host; name the files, or set "accounting_files" in qmemacct.toml',
      EXIT.unavailable,
    );
  const place = { directory: commonDirectory(cell), names: CELL_NAMES };
  filesIn(place);
  return { cluster, look: () => filesIn(place), places: [place] };
}

/** One line for each place with files whose compression can't be read; empty: none. */
export function passedOver({ places }: SiteFiles): readonly string[] {
  return places.flatMap((place) => {
    const names = ifReadable(place, passedOverIn);
    return names.length === 0
      ? []
      : `passed over in ${place.directory}, as only gzip can be read: ${names.join(', ')}; unpack what is not imported yet`;
  });
}

/** What a repeated import reads from, and what it stores into. */
export interface FollowedSite {
  readonly site: SiteFiles;
  /** null: nothing is written. */
  readonly store: HistoryStore | null;
  readonly target: ImportStore;
  readonly rules: RequestRules;
  /** The files of earlier rounds by path, first empty: a file that has not changed since is not read again. */
  readonly seen: Map<string, SeenFile>;
}

interface SeenFile {
  /** null: it is to be read again, whether or not it changes. */
  readonly state: string | null;
  /** What was wrong with it in this state. */
  readonly problem: string | null;
}

/** The paths at which new lines may appear, for `waitForChange`. */
export function watchedPaths({ look, places }: SiteFiles): readonly string[] {
  const awaited = places.flatMap(({ directory, names }) => names.map((name) => join(directory, name)));
  return [...new Set([...look(), ...awaited])];
}

/** Imports what came since the last round; `problems` includes older ones that last. Rejects with UserError. */
export async function importRound(
  { site, store, target, rules, seen }: FollowedSite,
  work: Pick<FilesOptions, 'signal' | 'onProgress' | 'renames'>,
): Promise<FilesOutcome> {
  // First takes in what the inbox holds, so that accounting lines find their delivered records.
  await store?.settle(work.signal === undefined ? {} : { signal: work.signal });
  const present = new Map(site.look().map((path) => [path, fileState(path)]));
  const read = [...present].filter(([path, state]) => seen.get(path)?.state !== state);
  const paths = read.map(([path]) => path);
  const outcome = await importFiles(paths, target, { ...work, cluster: site.cluster, rules, sizeOf: sizeOnDisk });
  for (const [path, state] of read)
    seen.set(path, {
      state: outcome.mayPass.has(path) ? null : state,
      problem: outcome.problems.get(path) ?? null,
    });
  const problems = new Map<string, string>();
  for (const path of present.keys()) {
    const { problem = null } = seen.get(path) ?? {};
    if (problem !== null) problems.set(path, problem);
  }
  return { ...outcome, problems };
}

/** What an import did, in one line. */
export function describeImport(sums: ImportSums): string {
  if (sums.lines === 0) return 'nothing new';
  const parts = [
    plural(sums.lines, 'line'),
    `${plural(sums.added, 'record')} added`,
    `${formatCount(sums.joined)} joined with records that were there`,
    ...(sums.unchanged > 0 ? [`${formatCount(sums.unchanged)} known before`] : []),
    ...(sums.unreadable > 0 ? [`${plural(sums.unreadable, 'line')} unreadable ("qmemacct import --unreadable")`] : []),
  ];
  return parts.join(', ');
}

/**
 * The import as a step of other work; resolves to a line on what it did. Rejects with CommandError, also if only some
 * files could not be imported, or as `importFile`.
 */
export async function importSiteAccounting(
  store: ImportStore,
  settings: SiteSettings,
  env: Terminal['env'],
  work: LongWork,
): Promise<string> {
  const site = siteFiles(settings, env);
  const { cluster } = site;
  const warnings = [...passedOver(site)];
  const outcome = await importFiles(site.look(), store, {
    cluster,
    rules: new RequestRules(settings),
    sizeOf: sizeOnDisk,
    ...(work.signal === undefined ? {} : { signal: work.signal }),
    onProgress: (_sums, done, of) => work.onProgress?.(done, of),
  });
  const said = [describeImport(outcome), ...warnings].join('; ');
  if (outcome.problems.size > 0)
    throw new CommandError([...outcome.problems.values(), `otherwise: ${said}`].join('; '), EXIT.unavailable);
  return said;
}

/** A store that keeps nothing: new lines all count as added, even those that would be joined. */
export function dryStore(known: readonly ImportedFile[]): ImportStore {
  return {
    importedFiles: () => Promise.resolve(known),
    importLines: ({ lines }) => Promise.resolve({ added: [...lines].length, joined: 0, unchanged: 0, conflict: false }),
  };
}
